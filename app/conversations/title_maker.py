"""Titles made by the model while the engine is idle. The request is aborted as soon as another request comes.

answer ends -> wait until the engine is idle -> ask -> keep the title
                    ^--- a request came: abort ---'

An answer that another process began is titled by the server that continues it. Titles that are due are in the database,
so another server, or the next process, makes those of a server that ended.

The request follows the conversation's own tokens, so its prefix is cached. The request keeps no KV itself, so the next
turn finds the cache unchanged.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from app.conversations.turns import Turns
from app.domain.records import new_id
from app.domain.titles import BEGINNING, END, REQUEST, title_by_model
from app.host.backend import Backend
from app.host.engine_host import EngineHost
from app.host.idle import IdleTasks, behind_all, is_busy
from app.runs.run import Run
from app.runs.unstored_ends import REFUSALS
from app.storage.store import Store
from engine.api.errors import NotReadyError, OutageError
from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import SamplingParams

MAX_TOKENS = 24
POLL_SECONDS = 1.0
PATIENCE_SECONDS = 600.0

logger = logging.getLogger(__name__)


class TitleMaker:
    """Owner of the conversations that wait for their titles, which are made one after another."""

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
        self._tasks = IdleTasks(
            self._try,
            "no title was generated",
            poll_seconds=poll_seconds,
            patience_seconds=PATIENCE_SECONDS,
            after=self._forget,
        )

    async def begin(self) -> None:
        """Make the titles that the former process left, and those of servers that have ended."""
        try:
            await self.take_over()
        except REFUSALS as error:
            logger.error("titles that the former process left are not made until the next start: %s", error)

    async def take_over(self) -> None:
        """Make the titles of servers that have ended. Raise the database's error."""
        for answer_id in await self._store.due_titles.take_over():
            self._tasks.begin(self._make(answer_id))

    def after(self, run: Run) -> None:
        """Title the conversation once `run` has ended, if it was the first answer."""
        self._tasks.begin(self._name(run))

    async def join(self) -> None:
        """Wait until all tasks have ended."""
        await self._tasks.join()

    async def stop(self) -> None:
        """Cancel the tasks. The next process, or another server, makes the titles."""
        await self._tasks.stop()

    async def _name(self, run: Run) -> None:
        try:
            is_first = await self._store.due_titles.add(run.answer.id)
        except REFUSALS:
            # No other server will know, but this one can title the conversation.
            is_first = True
        if is_first:
            await run.ended.wait()
            await self._make(run.answer.id)

    async def _make(self, answer_id: str) -> None:
        await self._host.until_ready()
        # A user who replies at once goes first.
        await asyncio.sleep(self._poll_seconds)
        self._tasks.put(answer_id)

    async def _forget(self, answer_id: str) -> None:
        with suppress(*REFUSALS):
            await self._store.due_titles.forget(answer_id)

    async def _try(self, answer_id: str) -> bool:
        """Try to title the conversation of an answer. Returns False to try again later."""
        try:
            return await self._try_now(answer_id)
        except (NotReadyError, OutageError):
            # If this server is stopping, the task is cancelled, and the title stays due.
            return False

    async def _try_now(self, answer_id: str) -> bool:
        self._host.require()
        due = await self._store.due_titles.find(answer_id)
        if due is None:
            return True
        store = self._store.of(due.tenant)
        conversation = await store.conversations.get(due.conversation_id)
        path = await store.messages.path(answer_id)
        if conversation.title_source != "first_message" or len(path) != 2:
            return True
        if path[1].status not in ("complete", "incomplete") or not path[1].content:
            return True
        engine = self._host.known_model(path[1].tokens.model)
        if engine is None or is_busy(engine):
            return False
        prompt = await self._turns.prompt_of(engine, conversation, path, REQUEST)
        answer = await self._ask(engine, due.tenant, prompt + engine.tokenizer.encode(BEGINNING, special=False))
        if answer is None:
            return False
        title = title_by_model(answer, path[0].content)
        if title is not None:
            await store.conversations.name_by_model(conversation.id, title)
            self._announce(due.tenant, conversation.id)
        return True

    async def _ask(self, engine: Backend, tenant: str, prompt: list[int]) -> str | None:
        """Ask the model for a title. Returns None if another request arrived or the server stops, "" without an end."""
        params = SamplingParams(temperature=0.0, max_tokens=MAX_TOKENS, stop=(END, "\n"))
        urgency, name = behind_all(engine), new_id("title")
        [stream] = await engine.generate(
            GenerateRequest(
                prompt_token_ids=prompt, params=params, request_id=name, tenant=tenant, urgency=urgency, keep_kv=False
            )
        )
        text = ""
        try:
            async for output in stream:
                text += output.text
                if output.finish_reason == "abort":
                    return None
                if output.finished:
                    return text if output.finish_reason == "stop" else ""
                if is_busy(engine, exclude=1):
                    return None
        finally:
            engine.abort(stream.request_id)
        return None
