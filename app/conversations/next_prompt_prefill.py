"""Prefill of the next prompt's prefix, where reasoning makes it diverge from the cached KV.

Reasoning is dropped from history, so the prompt after an answer with reasoning diverges from the KV of that answer.
Once such an answer has ended and the engine is idle, the prefix of the next prompt is computed. The tiers keep it like
that of any request, and the next turn computes only its question.

answer ends -> wait until the engine is idle -> compute -> kept
                    ^------ a request came: abort ------'

After a compaction, the next prompt begins with a summary instead of the conversation, and is prefilled in the same way.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from app.conversations.kv_erasure import KVErasure
from app.conversations.turns import Turns
from app.domain.answer_tokens import TokenNode
from app.domain.token_history import MessageTokens, is_shortened, pack_ids
from app.host.backend import Backend
from app.host.engine_host import EngineHost
from app.host.idle import IdleTasks, is_busy, prefill
from app.prompts.prefix_rules import AS_SENT, PrefixRules
from app.runs.run import Run
from app.storage.store import Store
from models.chat.format import Message as ChatMessage

POLL_SECONDS = 0.2
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer whose next prompt is prefilled, with what that prompt depends on."""

    run: Run
    engine: Backend
    instructions: str | None
    tools: Sequence[ChatMessage]
    rules: PrefixRules

    def __str__(self) -> str:
        """Return the name in the log."""
        return self.run.id


@dataclass(frozen=True, slots=True)
class _Prefix:
    """A prefix of a prompt that is expected next, of a tenant whose server keeps no conversation.

    make: returns its token ids; none if they are unknown.
    """

    make: Callable[[], Awaitable[Sequence[int]]]
    tenant: str
    engine: Backend

    def __str__(self) -> str:
        """Return the name in the log."""
        return "compaction"


class NextPromptPrefill:
    """Owner of the answers and prefixes whose next prompts are prefilled, one after another."""

    def __init__(
        self, host: EngineHost, store: Store, turns: Turns, erasure: KVErasure, *, poll_seconds: float = POLL_SECONDS
    ) -> None:
        """Prepare to run the tasks.

        poll_seconds: time between two checks whether the engine is busy.
        """
        self._host = host
        self._store = store
        self._turns = turns
        self._erasure = erasure
        self._poll_seconds = poll_seconds
        self._tasks = IdleTasks[_Answer | _Prefix](
            self._compute,
            "the next prompt was not prefilled",
            poll_seconds=poll_seconds,
            patience_seconds=PATIENCE_SECONDS,
        )

    def after(
        self,
        run: Run,
        instructions: str | None = None,
        tools: Sequence[ChatMessage] = (),
        rules: PrefixRules = AS_SENT,
    ) -> None:
        """Prefill the next prompt once `run` has ended, if its answer has reasoning.

        instructions: replaces the conversation's system prompt; None keeps it.
        tools: tools of the request. The next request usually repeats both.
        rules: rules for the beginning of the prompts.
        """
        engine = self._host.known_model(run.answer.tokens.model)
        if engine is None or engine.chat_format.thinking is None:
            return
        self._tasks.begin(self._begin(run, instructions, tools, rules))

    def ahead(self, engine: Backend, make: Callable[[], Awaitable[Sequence[int]]], tenant: str) -> None:
        """Prefill the prefix that `make` returns: the beginning of the tenant's next prompt of a model, or nothing."""
        self._tasks.put(_Prefix(make, tenant, engine))

    async def join(self) -> None:
        """Wait until all tasks have ended."""
        await self._tasks.join()

    async def stop(self) -> None:
        """Cancel the tasks. The next turn computes what they did not."""
        await self._tasks.stop()

    async def _begin(
        self, run: Run, instructions: str | None, tools: Sequence[ChatMessage], rules: PrefixRules
    ) -> None:
        await run.ended.wait()
        engine = self._host.model_of(run.answer.tokens.model)
        thinking = engine.chat_format.thinking
        if thinking is None or not thinking.is_in(run.token_ids) or not run.answer.content:
            return
        self._tasks.put(_Answer(run, engine, instructions, tools, rules))

    async def _compute(self, work: _Answer | _Prefix) -> bool:
        """Try to prefill the next prompt. Returns False if the engine was busy or became busy."""
        if is_busy(work.engine):
            return False
        if isinstance(work, _Answer):
            return await self._after_answer(work)
        ids = await work.make()
        return not ids or await prefill(work.engine, ids, work.tenant, self._poll_seconds)

    async def _after_answer(self, answer: _Answer) -> bool:
        run, engine = answer.run, answer.engine
        store = self._store.of(run.tenant)
        conversation = await store.conversations.get(run.answer.conversation_id)
        if await store.messages.first_answer(run.answer.id) is not None:
            return True  # The conversation has continued already.
        if is_shortened(run.answer.tokens.prompt_key):
            return True  # The next prompt will lack messages of its path, too.
        if answer.instructions is not None:
            conversation = replace(conversation, system_prompt=answer.instructions)
        path = await store.messages.path(run.answer.id)
        ids = await self._turns.next_prefix_of(engine, conversation, path, answer.tools, answer.rules)
        kept = MessageTokens(pack_ids([*ids, *ids[:1]]), starts_prompt=True, model=engine.model_name)
        if not ids or not await self._store.next_prefixes.keep(run.answer.id, kept.ids):
            return True
        is_whole = await prefill(engine, ids, run.tenant, self._poll_seconds)
        if await store.messages.find(run.answer.id) is None:
            # The answer's KV was erased while this prefix was computed.
            self._erasure.begin([TokenNode(run.answer.id, None, "assistant", kept)], run.tenant)
            return True
        return is_whole
