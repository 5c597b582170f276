"""The next prompt begins otherwise than the last answer ended, where that was thought about: history has no thoughts.

So once such an answer has ended and nobody else asks for anything, the beginning of the next prompt is computed, and
stays in the tiers like that of any request: the next turn finds all but its question.

answer ends -> wait until the engine has nothing to do -> compute -> kept
                    ^----- somebody came: give up ----------'
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from app.backend import Backend
from app.engine_host import EngineHost
from app.idle import IdleTasks, behind_all, is_busy
from app.ids import new_id
from app.kv_erasure import KVErasure
from app.runs import Run
from app.storage.store import Store
from app.token_history import MessageTokens, pack_ids
from app.token_trails import TokenNode
from app.turns import Turns
from engine.sampling_params import SamplingParams
from models.pangu.chat_format import Message as ChatMessage

POLL_SECONDS = 0.2
PATIENCE_SECONDS = 60.0


class NextPrefixes:
    """Owner of a task for each answer whose next prompt is to be begun; one of them computes at a time."""

    def __init__(
        self, host: EngineHost, store: Store, turns: Turns, erasure: KVErasure, *, poll_seconds: float = POLL_SECONDS
    ) -> None:
        """poll_seconds: between two looks whether the engine has something to do."""
        self._host = host
        self._store = store
        self._turns = turns
        self._erasure = erasure
        self._poll_seconds = poll_seconds
        self._tasks = IdleTasks(
            "its next prompt is not begun", poll_seconds=poll_seconds, patience_seconds=PATIENCE_SECONDS
        )

    def after(self, run: Run, instructions: str | None = None, tools: Sequence[ChatMessage] = ()) -> None:
        """When `run` has ended: begin what follows it, if it was thought about.

        instructions: in place of the conversation's system prompt. They and the tools are mostly said again.
        """
        engine = self._host.engine
        if engine is None or engine.chat_format.thinking is None:
            return
        self._tasks.begin(self._begin(run, instructions, tools))

    async def settled(self) -> None:
        """Wait until nothing is to be computed any more."""
        await self._tasks.settled()

    async def stop(self) -> None:
        """What has not been computed will be with its question."""
        await self._tasks.stop()

    async def _begin(self, run: Run, instructions: str | None, tools: Sequence[ChatMessage]) -> None:
        await run.ended.wait()
        engine = self._host.require()
        thinking = engine.chat_format.thinking
        if thinking is None or not thinking.is_in(run.token_ids) or not run.answer.content:
            return
        await self._tasks.succeed(run.id, partial(self._compute, engine, run, instructions, tools))

    async def _compute(self, engine: Backend, run: Run, instructions: str | None, tools: Sequence[ChatMessage]) -> bool:
        """False: somebody else asks, or came meanwhile."""
        if is_busy(engine):
            return False
        store = self._store.of(run.tenant)
        conversation = await store.conversations.get(run.answer.conversation_id)
        if await store.messages.first_answer(run.answer.id) is not None:
            return True  # It has gone on already.
        if instructions is not None:
            conversation = replace(conversation, system_prompt=instructions)
        path = await store.messages.path(run.answer.id)
        ids = await self._turns.next_prefix_of(conversation, path, tools)
        # A token has to be drawn for a prompt to be computed; nobody looks at it.
        params = SamplingParams(temperature=0.0, max_tokens=1)
        kept = MessageTokens(pack_ids([*ids, *ids[:1]]), starts_prompt=True)
        if not ids or not await self._store.next_prefixes.keep(run.answer.id, kept.ids):
            return True
        stream = engine.generate(ids, params, request_id=new_id("next"), tenant=run.tenant, urgency=behind_all(engine))
        try:
            async with asyncio.TaskGroup() as group:
                watch = group.create_task(self._abort_when_busy(engine, stream.request_id))
                whole = [output.finish_reason == "length" async for output in stream if output.finished]
                watch.cancel()
        finally:
            engine.abort(stream.request_id)
        if await store.messages.find(run.answer.id) is None:
            # Its KV was erased while this was computed.
            self._erasure.begin([TokenNode(run.answer.id, None, "assistant", kept)], run.tenant)
            return True
        return any(whole)

    async def _abort_when_busy(self, engine: Backend, request_id: str) -> None:
        while True:
            await asyncio.sleep(self._poll_seconds)
            if is_busy(engine, but=1):
                engine.abort(request_id)
                return
