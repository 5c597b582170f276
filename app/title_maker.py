"""Titles by the model: asked for when nobody else asks for anything, and given up as soon as somebody does.

answer ends -> wait until the engine has nothing to do -> ask -> keep the title
                    ^----- somebody came: abort ------'

The request stands behind the conversation's own tokens, so its prefix is there already, and it keeps no KV: what the
next turn finds is what it would have found.
"""

import asyncio
import logging
from contextlib import suppress

from app.backend import Backend
from app.engine_host import EngineHost
from app.idle import behind_all, is_busy
from app.ids import new_id
from app.runs import Run
from app.storage.store import Store
from app.titles import BEGINNING, END, REQUEST, title_by_model
from app.turns import Turns
from engine.errors import EbbError
from engine.sampling_params import SamplingParams

MAX_TOKENS = 24
POLL_SECONDS = 1.0
PATIENCE_SECONDS = 600.0

logger = logging.getLogger(__name__)


class TitleMaker:
    """Owner of a task for each conversation that waits for its title; one of them asks at a time."""

    def __init__(self, host: EngineHost, store: Store, turns: Turns, *, poll_seconds: float = POLL_SECONDS) -> None:
        """poll_seconds: between two looks whether the engine has something to do."""
        self._host = host
        self._store = store
        self._turns = turns
        self._poll_seconds = poll_seconds
        self._tasks: set[asyncio.Task[None]] = set()
        self._asking = asyncio.Lock()

    def after(self, run: Run) -> None:
        """When `run` has ended: if it was the first answer, its conversation gets a title."""
        task = asyncio.create_task(self._name(run), name="title")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """Those that have no title yet keep the first message's."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _name(self, run: Run) -> None:
        await run.ended.wait()
        if run.answer.status not in ("complete", "incomplete") or not run.answer.content:
            return
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_SECONDS), self._asking:
                    while True:
                        await asyncio.sleep(self._poll_seconds)
                        if await self._try(run):
                            return
        except EbbError as error:
            # Deleted meanwhile, too long for one more question, or the server stops.
            logger.debug("%s: no title: %s", run.id, error.message)
        except Exception:
            logger.exception("%s: no title", run.id)

    async def _try(self, run: Run) -> bool:
        """False: again later."""
        engine = self._host.require()
        if is_busy(engine):
            return False
        store = self._store.of(run.tenant)
        conversation = await store.conversations.get(run.answer.conversation_id)
        path = await store.messages.path(run.answer.id)
        if conversation.title_source != "first_message" or len(path) > 2:
            return True
        prompt = await self._turns.prompt_of(conversation, path, REQUEST)
        answer = await self._ask(engine, run.tenant, prompt + engine.tokenizer.encode(BEGINNING, special=False))
        if answer is None:
            return False
        title = title_by_model(answer, path[0].content)
        if title is not None:
            await store.conversations.name_by_model(conversation.id, title)
        return True

    async def _ask(self, engine: Backend, tenant: str, prompt: list[int]) -> str | None:
        """None if somebody else came meanwhile; empty if there is no end to it."""
        params = SamplingParams(temperature=0.0, max_tokens=MAX_TOKENS, stop=(END, "\n"))
        urgency, name = behind_all(engine), new_id("title")
        stream = engine.generate(prompt, params, request_id=name, tenant=tenant, urgency=urgency, keep_kv=False)
        text = ""
        try:
            async for output in stream:
                text += output.text
                if output.finished:
                    return text if output.finish_reason == "stop" else ""
                if is_busy(engine, but=1):
                    return None
        finally:
            engine.abort(stream.request_id)
        return None
