"""Turns of a conversation: store the question, start the answer as a run."""

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

from app.conversations.merging import answers_to_merge, merging_ids
from app.conversations.repeated_requests import RepeatedRequests
from app.conversations.turn_draft import TurnDraft
from app.conversations.unstored_turn import Erase, erase_turn
from app.domain.left_out import LeftOut, beginning_of, wanted_beginning
from app.domain.records import Conversation, Message, last_model, new_id
from app.host.backend import Backend
from app.host.engine_host import EngineHost, kv_identity
from app.prompts.earlier_prompts import look_back
from app.prompts.prefix_rules import AS_SENT, PrefixRules
from app.prompts.thinking import required_mode
from app.prompts.tokenization import generate
from app.prompts.turn_prompt import PromptMaker
from app.runs.pending_cancel import CancelPendingError
from app.runs.reuse_report import reuse_report
from app.runs.run import Run
from app.runs.run_log import RunLog, opening_event
from app.runs.service import RunRegistry
from app.schemas.conversations import NewMessage, RetryFields, given_params
from app.schemas.parsing import parse_object
from app.schemas.response_bodies.reuse_report import ReuseReport
from app.schemas.sampling import AnswerParams, ChatParams, UrgencyFields
from app.storage.store import Store
from app.storage.versions import VersionMismatchError, Versions
from app.tenants.gate import TenantGate
from engine.api.errors import ConflictError, InvalidRequestError, NotFoundError
from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import SamplingParams
from models.chat.format import Message as ChatMessage
from models.thinking import ThinkingMode

CALM = {"temperature": 0.2, "top_p": 0.9}
"""Default sampling of a conversation, where neither its settings nor the model's makers give any. At OpenAI's
temperature of 1.0 a small model loses the thread.
"""

SEED_BITS = 53
"""Bits of a drawn seed, few enough to survive a browser, whose numbers are doubles."""


class Turns:
    """Questions, retries and their answers, in the conversations of the store's tenant."""

    def __init__(
        self, host: EngineHost, store: Store, runs: RunRegistry, gate: TenantGate, erase: Erase = lambda *_: None
    ) -> None:
        """Prepare for turns. erase: begins to erase the KV of a turn whose chat was deleted while it was admitted."""
        self._host = host
        self._erase = erase
        self._store = store
        self._runs = runs
        self._gate = gate
        self._repeated = RepeatedRequests(store, runs)

    async def ask(self, conversation_id: str, fields: NewMessage, expected: Versions = None) -> Run:
        """Store a question and start its answer. Repeating the request returns the same run.

        Raises:
            NotFoundError: the conversation or the parent does not exist.
            InvalidRequestError: the parent is not an answer, or the engine refuses the request. Nothing is stored.
            ConflictError: the parent is still being generated, or the head moved while the request was processed.
            VersionMismatchError: the conversation is not at the `expected` version.
            NotReadyError, OverloadedError, LimitReachedError: the request cannot be served now.
        """
        before = await self._repeated.run_of_question(fields.id, conversation_id, fields.content)
        try:
            return before or await self._ask(conversation_id, fields, expected)
        except (ConflictError, VersionMismatchError):
            # Two copies of the same request may arrive at once, and conflict with each other.
            if (run := await self._repeated.run_of_question(fields.id, conversation_id, fields.content)) is not None:
                return run
            raise

    async def _ask(self, conversation_id: str, fields: NewMessage, expected: Versions) -> Run:
        self._host.require(fields.model)
        await self._runs.settle()
        conversation = await self._store.conversations.get(conversation_id)
        parent_id = conversation.head_id if fields.follows_head else fields.parent_id
        path = await self._store.messages.path(parent_id)
        if fields.follows_head and parent_id is not None and not path:
            await self._refuse_without_head(conversation_id)
        if fields.follows_head and path and path[-1].role == "user" and path[-1].tokens.prompt_key:
            raise ConflictError("The last question has no answer yet: retry it first", code="question_unanswered")
        _check_parent(path, parent_id, conversation_id)
        engine, adapter = await self._chosen(fields, path)
        params = _params(engine, conversation, fields.params)
        thinking = _thinking(engine, conversation, fields.params)
        new = [ChatMessage("user", fields.content)]
        self._gate.check(engine)
        beginning = wanted_beginning(path, fields.left_out, fields.summary)
        is_new = beginning != beginning_of(path)
        prompt = await self._prompts(engine, conversation, beginning).prompt(path, new, thinking=thinking)
        now = time.time()
        question = Message(
            id=fields.id or new_id("msg"),
            conversation_id=conversation_id,
            parent_id=parent_id,
            role="user",
            content=fields.content,
            status="complete",
            created_at=now,
            completed_at=now,
            tokens=prompt.tokens,
            left_out=beginning.left_out if is_new else None,
            summary=beginning.summary if is_new else None,
        )
        turn = TurnDraft(
            conversation=conversation,
            question=question,
            prompt=prompt,
            sampling=with_seed(params.sampling_params()),
            thinking=thinking,
            urgency=fields.urgency(),
            new=(question,),
            check_head=fields.follows_head,
            expected=expected,
            left_out=beginning.left_out,
            adapter=adapter,
        )
        return await self.start(engine, turn, rename=_field_of)

    async def _chosen(self, fields: NewMessage | RetryFields, path: Sequence[Message]) -> tuple[Backend, str]:
        """Return the model that answers, once its prompts can be made, and its adapter; empty for none.

        A request that names no model continues with that of the last answer of `path`. Raise as `ask`.
        """
        name = fields.model or last_model(path)
        engine = self._host.require(name) if fields.model is not None else self._host.model_of(name)
        await self._host.prepared(engine, fields.timeout)
        adapter = self._host.aliases.model(name) if name is not None else ""
        return engine, adapter if adapter in engine.adapters else ""

    async def _refuse_without_head(self, conversation_id: str) -> NoReturn:
        """Refuse a question whose chat, or the end of it, was deleted after the chat was read.

        Raise NotFoundError, ConflictError.
        """
        await self._store.conversations.get(conversation_id)
        raise ConflictError(
            "The end of this conversation was deleted since you read it. Read the conversation, then try again",
            code="head_moved",
        )

    async def retry(self, message_id: str, fields: RetryFields, expected: Versions = None) -> Run:
        """Start another answer to a question. Repeating the request returns the same run.

        message_id: the question, or one of its answers.

        Raise as `ask` does.
        """
        await self._runs.settle()
        message = await self._store.messages.get(message_id)
        before = await self._repeated.run_of_answer(fields.id, message)
        try:
            return before or await self._retry(message, fields, expected)
        except (ConflictError, VersionMismatchError):
            if (run := await self._repeated.run_of_answer(fields.id, message)) is not None:
                return run
            raise

    async def _retry(self, message: Message, fields: RetryFields, expected: Versions) -> Run:
        self._host.require(fields.model)
        _check_finished(message)
        path = await self._store.messages.path(message.id if message.role == "user" else message.parent_id)
        if not path or path[-1].role != "user":
            raise InvalidRequestError("There is no question to answer again", param="id")
        conversation = await self._store.conversations.get(message.conversation_id)
        engine, adapter = await self._chosen(fields, path if message.role == "user" else [*path, message])
        params = _params(engine, conversation, fields.params)
        thinking = _thinking(engine, conversation, fields.params)
        self._gate.check(engine)
        beginning, system_prompt = beginning_of(path), _own_instructions(fields.params, conversation)
        prompts = self._prompts(engine, conversation, beginning)
        merged = await answers_to_merge(self._store, path[-1], fields.merge) if fields.merge else []
        has_own_prompt = bool(merged) or system_prompt is not None
        prompt = answer_prompt = await prompts.prompt(path, thinking=None if has_own_prompt else thinking)
        if system_prompt is not None:
            prompts = replace(prompts, system_prompt=system_prompt or None, param="params.system_prompt")
            answer_prompt = await prompts.prompt(path, thinking=thinking)
        if merged:
            answer_prompt = replace(answer_prompt, ids=await merging_ids(prompts, path, merged, thinking=thinking))
        turn = TurnDraft(
            conversation=conversation,
            question=path[-1],
            # The question keeps its own tokens: the next turn follows this answer as if it were the only one.
            prompt=replace(answer_prompt, tokens=prompt.tokens),
            sampling=with_seed(params.sampling_params()),
            thinking=thinking,
            urgency=fields.urgency(),
            answer_id=fields.id,
            system_prompt=system_prompt,
            has_own_prompt=has_own_prompt,
            expected=expected,
            left_out=beginning.left_out,
            merged=len(merged),
            adapter=adapter,
        )
        return await self.start(engine, turn, rename=_field_of)

    async def explain(self, run_id: str) -> ReuseReport:
        """Report why no more of a run's prompt was reused: see `app.runs.reuse_report`.

        Raise NotFoundError, NotReadyError.
        """
        run = self._runs.get(run_id, self._store.tenant)
        answer = run.answer if run is not None else await self._store.messages.of_run(run_id)
        messages = await self._store.messages.all_of(answer.conversation_id)
        stored = next((message for message in messages if message.id == answer.id), None)
        if stored is None:
            raise NotFoundError(f"The conversation of run {run_id} was deleted", code="run_not_found")
        engine = self._host.model_of(answer.tokens.model)
        # The parent that the answer had when its run began may have been removed from the conversation.
        answer = replace(answer, parent_id=stored.parent_id)
        earlier = await asyncio.to_thread(look_back, messages, answer, engine.tokenizer)
        continuation = run.reuse.known.continuation if run is not None and run.reuse is not None else None
        return reuse_report(answer, earlier, continuation, engine.tokenizer, block_size=engine.config.cache.block_size)

    async def cancel(self, run_id: str) -> Message:
        """Cancel a run at any server, and return its answer once the store has its end.

        Raises:
            NotFoundError: there is no such run, or its conversation was deleted.
            CancelPendingError: the answer has not ended.
            OutageError: the database refuses the end, which this server keeps and stores later.
        """
        run, tenant = self._runs.get(run_id, self._store.tenant), self._store.tenant
        await self._runs.cancel(run_id, tenant)
        if run is not None and not run.is_kept:
            return run.answer
        await self._runs.settle()
        answer = await self._store.messages.of_run(run_id)
        if answer.status == "in_progress":
            # This server has lost the run, or hands it over since it stops.
            await self._runs.cancel_elsewhere(run_id, tenant)
            answer = await self._store.messages.of_run(run_id)
        if answer.status == "in_progress":
            raise CancelPendingError
        return answer

    async def prompt_of(
        self,
        engine: Backend,
        conversation: Conversation,
        path: Sequence[Message],
        content: str,
        beginning: LeftOut | None = None,
        *,
        thinking: ThinkingMode | None = None,
    ) -> list[int]:
        """Return the token ids of the prompt that would ask `content` of a model after `path`.

        beginning: what the prompt lacks of `path`; None for the same as the prompt before.

        Raise as `ask` does.
        """
        prompts = self._prompts(engine, conversation, beginning or beginning_of(path))
        return (await prompts.prompt(path, [ChatMessage("user", content)], thinking=thinking)).ids

    async def key_of(self, engine: Backend, conversation: Conversation, beginning: LeftOut) -> str:
        """Return the key of the token ids of a model's prompts in a conversation."""
        return await self._prompts(engine, conversation, beginning).key()

    async def next_prefix_of(
        self,
        engine: Backend,
        conversation: Conversation,
        path: Sequence[Message],
        tools: Sequence[ChatMessage] = (),
        rules: PrefixRules = AS_SENT,
    ) -> list[int]:
        """Return the token ids with which a model's prompt of a turn after `path` begins, whatever its question is.

        tools, rules: as in `PromptMaker`.

        Raise as `ask` does.
        """
        prompts = self._prompts(engine, conversation, beginning_of(path))
        prompts = replace(prompts, tools=tools, rules=rules)
        return await prompts.next_prefix(path)

    async def shown_path(self, conversation: Conversation) -> AsyncGenerator[list[Message], None]:
        """Yield the messages on the current path in parts, as `in_parts` does."""
        async for part in self.in_parts(await self._store.messages.parts_of_path(conversation.head_id)):
            yield part

    async def all_parts(self, conversation: Conversation) -> AsyncGenerator[list[Message], None]:
        """Yield all messages of a conversation, the oldest first, as `in_parts` does."""
        async for part in self.in_parts(await self._store.messages.parts_of(conversation.id)):
            yield part

    async def in_parts(self, parts: Sequence[Sequence[str]]) -> AsyncGenerator[list[Message], None]:
        """Yield the messages with these ids, part by part. Unfinished answers have the text generated so far.

        Messages that are deleted in the meantime are left out.
        """
        for ids in parts:
            yield await self.as_they_are(await self._store.messages.some(ids))

    async def as_they_are(self, messages: Sequence[Message]) -> list[Message]:
        """Replace each stored message that is still being generated with its text so far.

        A run is kept for a while after its end. The rating of its answer is only stored.
        """
        return [
            replace(run.answer_so_far, rating=message.rating, rating_note=message.rating_note)
            if (run := await self._runs.find(message, self._store.tenant))
            else message
            for message in messages
        ]

    async def start(self, engine: Backend, draft: TurnDraft, *, rename: Callable[[str], str]) -> Run:
        """Queue a turn in the engine and store it.

        rename: maps the engine's name of a field to the client's.

        Raise as `ask` does.
        """
        run_id = new_id("run")
        [stream] = await generate(
            self._gate,
            engine,
            GenerateRequest(
                prompt_token_ids=draft.prompt.ids,
                params=draft.sampling,
                request_id=run_id,
                adapter=draft.adapter,
                urgency=draft.urgency,
                num_marked=len(draft.prompt.ids) if draft.is_marked else 0,
                promise=self._gate.promise(draft.wanted_promise, len(draft.prompt.ids)),
                progress_every=draft.progress_every,
                is_stored=draft.is_kept,
            ),
            rename=rename,
        )

        identity = kv_identity(engine, draft.adapter)

        def abort() -> None:
            engine.abort(stream.request_id)

        # The engine has begun: abort if the turn cannot be stored.
        try:
            answer = draft.answer(run_id, stream.params)
            conversation = draft.conversation
            if draft.is_kept:
                conversation = await self._store.runs.begin(draft.stored_turn(answer, identity))
        except BaseException as error:
            abort()
            if isinstance(error, NotFoundError):
                await erase_turn(self._erase, stream, draft.prompt.ids, self._store.tenant, engine.model_name)
            raise
        opening = opening_event(conversation, draft.question, answer)
        log = RunLog(run_id, answer, opening)
        run = Run(
            id=run_id,
            tenant=self._store.tenant,
            answer=answer,
            log=log,
            kv_fingerprint=identity,
            remember=draft.remember,
            is_kept=draft.is_kept,
            lines=draft.prompt.lines,
            logprobs=[] if draft.sampling.logprobs is not None else None,
        )
        self._runs.add(run)
        self._runs.drive(run, stream, abort)
        return run

    def _prompts(self, engine: Backend, conversation: Conversation, beginning: LeftOut) -> PromptMaker:
        identity = self._host.prompt_identity_of(engine)
        return PromptMaker(
            gate=self._gate,
            engine=engine,
            prompt_identity=identity,
            system_prompt=conversation.system_prompt,
            beginning=beginning,
        )


def sampling_of_chats(engine: Backend) -> Mapping[str, float]:
    """Return a conversation's default sampling: some of temperature, top_p and top_k."""
    return engine.sampling_defaults or CALM


def _own_instructions(params: AnswerParams | None, conversation: Conversation) -> str | None:
    """Return the system prompt of one answer, empty for none; None if it is that of the conversation."""
    given = params.system_prompt if params is not None else None
    return None if given == (conversation.system_prompt or "") else given


def _params(engine: Backend, conversation: Conversation, params: ChatParams | None) -> ChatParams:
    chosen = {**sampling_of_chats(engine), **conversation.params, **given_params(params)}
    return parse_object(ChatParams, {name: chosen[name] for name in ChatParams.model_fields if name in chosen})


def with_seed(params: SamplingParams) -> SamplingParams:
    """Draw a seed unless the client gave one. The seed is stored, so that a turn can be reproduced."""
    return params if params.seed is not None else replace(params, seed=secrets.randbits(SEED_BITS))


def _thinking(engine: Backend, conversation: Conversation, params: ChatParams | None) -> ThinkingMode | None:
    """Return the thinking mode of a turn.

    A mode that the request names must exist. A mode stored with the conversation may belong to another model, and is
    ignored if this model lacks it.
    """
    if params is not None and params.thinking is not None:
        return required_mode(engine, params.thinking, param="params.thinking")
    thinking, kept = engine.chat_format.thinking, conversation.params.get("thinking")
    return kept if thinking is not None and kept in thinking.modes else None


def _check_parent(path: Sequence[Message], parent_id: str | None, conversation_id: str) -> None:
    if parent_id is None:
        return
    if not path or path[-1].conversation_id != conversation_id:
        raise InvalidRequestError(f"There is no message {parent_id} in this conversation", param="parent_id")
    if path[-1].role != "assistant" and path[-1].tokens.prompt_key:
        raise InvalidRequestError("A message can only follow an answer", param="parent_id")
    _check_finished(path[-1])


def _check_finished(message: Message) -> None:
    if message.status == "in_progress":
        raise ConflictError("This answer is still being generated", code="run_in_progress")


def _field_of(engine_param: str) -> str:
    if engine_param in UrgencyFields.model_fields:
        return engine_param
    return "content" if engine_param == "prompt" else f"params.{engine_param}"
