"""Titles made by the model while the engine is idle. The request is aborted as soon as another request comes.

answer ends -> wait until the engine is idle -> ask -> keep the title
                    ^--- a request came: abort ---'

An answer that another process began is titled by the server that continues it. A title that was due when its server
ended is not made: the chat keeps the beginning of its first message.

The request follows the conversation's own tokens, so its prefix is cached. The request keeps no KV itself, so the next
turn finds the cache unchanged.
"""

import asyncio
from collections.abc import Callable
from functools import partial

from app.conversations.turns import Turns
from app.domain.ids import new_id
from app.domain.titles import BEGINNING, END, REQUEST, title_by_model
from app.host.backend import Backend
from app.host.engine_host import EngineHost
from app.host.idle import IdleTasks, behind_all, is_busy
from app.runs.run import Run
from app.storage.store import Store
from engine.generate_request import GenerateRequest
from engine.sampling_params import SamplingParams

MAX_TOKENS = 24
POLL_SECONDS = 1.0
PATIENCE_SECONDS = 600.0


class TitleMaker:
    """Owner of one task per conversation that waits for its title. One of them asks the model at a time."""

    def __init__(
        self,
        host: EngineHost,
        store: Store,
        turns: Turns,
        *,
        poll_seconds: float = POLL_SECONDS,
        announce: Callable[[str, str], None] = lambda _tenant, _conversation_id: None,
    ) -> None:
        """Prepare to run the tasks.

        poll_seconds: time between two checks whether the engine is busy.
        announce: called with the tenant and the conversation that has a new title.
        """
        self._host = host
        self._store = store
        self._turns = turns
        self._announce = announce
        self._poll_seconds = poll_seconds
        self._tasks = IdleTasks("no title was generated", poll_seconds=poll_seconds, patience_seconds=PATIENCE_SECONDS)

    def after(self, run: Run) -> None:
        """Title the conversation once `run` has ended, if it was the first answer."""
        self._tasks.begin(self._name(run))

    async def join(self) -> None:
        """Wait until all tasks have ended."""
        await self._tasks.join()

    async def stop(self) -> None:
        """Cancel the tasks. Conversations without a title from the model keep that of the first message."""
        await self._tasks.stop()

    async def _name(self, run: Run) -> None:
        await run.ended.wait()
        if run.answer.status not in ("complete", "incomplete") or not run.answer.content:
            return
        # A user who replies at once goes first.
        await asyncio.sleep(self._poll_seconds)
        await self._tasks.succeed(run.id, partial(self._try, run))

    async def _try(self, run: Run) -> bool:
        """Try to title the conversation. Returns False to try again later."""
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
            self._announce(run.tenant, conversation.id)
        return True

    async def _ask(self, engine: Backend, tenant: str, prompt: list[int]) -> str | None:
        """Ask the model for a title. Returns None if another request arrived, and "" if the title had no end."""
        params = SamplingParams(temperature=0.0, max_tokens=MAX_TOKENS, stop=(END, "\n"))
        urgency, name = behind_all(engine), new_id("title")
        [stream] = await engine.generate(
            GenerateRequest(prompt, params, request_id=name, tenant=tenant, urgency=urgency, keep_kv=False)
        )
        text = ""
        try:
            async for output in stream:
                text += output.text
                if output.finished:
                    return text if output.finish_reason == "stop" else ""
                if is_busy(engine, exclude=1):
                    return None
        finally:
            engine.abort(stream.request_id)
        return None
