"""One turn of a conversation: the question is stored, the answer becomes a run."""

import asyncio
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.backend import Backend
from app.conversations import ConversationStore, Turn
from app.earlier_prompts import look_back
from app.engine_host import EngineHost
from app.ids import new_id
from app.kv_erasure import KVErasure
from app.prompts import generate, to_ids
from app.records import Conversation, Message
from app.reuse_report import reuse_report
from app.runs import Run, RunRegistry
from app.schemas.conversations import NewMessage, RetryFields, given_params
from app.schemas.parsing import parse_object
from app.schemas.sampling import SamplingFields
from app.schemas.urgency import UrgencyFields
from app.titles import title_from
from app.token_history import MessageTokens, joined_ids, pack_ids, prompt_key
from engine.errors import ConflictError, InvalidRequestError, NotFoundError
from engine.sampling_params import SamplingParams
from engine.urgency import Urgency
from models.pangu.chat_format import Message as ChatMessage

CALM = {"temperature": 0.2, "top_p": 0.9}
"""How a conversation samples unless it says otherwise: at OpenAI's 1.0 a small model wanders off."""

SEED_BITS = 53
"""So that a drawn seed survives a browser, whose numbers are doubles."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """ids: all of it. tokens: what the question's message keeps of it."""

    ids: list[int]
    tokens: MessageTokens


class Turns:
    """Ties the store, the runs and the engine together."""

    def __init__(self, host: EngineHost, store: ConversationStore, runs: RunRegistry, erasure: KVErasure) -> None:
        self._host = host
        self._store = store
        self._runs = runs
        self._erasure = erasure

    async def ask(self, conversation_id: str, fields: NewMessage) -> Run:
        """Store a question and start its answer.

        Raises:
            NotFoundError: the conversation or the parent does not exist.
            InvalidRequestError: the parent is no answer, or the engine refuses the request. Nothing is stored then.
            ConflictError: the parent is still being generated, or the head moved meanwhile.
            NotReadyError, OverloadedError: not now.
        """
        engine = self._host.require()
        conversation = await self._store.get(conversation_id)
        parent_id = conversation.head_id if fields.follows_head else fields.parent_id
        path = await self._store.path(parent_id)
        _check_parent(path, parent_id, conversation_id)
        prompt = await self._prompt_of_question(engine, conversation, path, fields.content)
        now = time.time()
        question = Message(
            id=new_id("msg"),
            conversation_id=conversation_id,
            parent_id=parent_id,
            role="user",
            content=fields.content,
            status="complete",
            created_at=now,
            completed_at=now,
            tokens=prompt.tokens,
        )
        turn = _TurnDraft(
            conversation,
            question,
            prompt,
            sampling=_sampling(conversation, fields.params),
            urgency=fields.urgency(),
            is_new=True,
            check_head=fields.follows_head,
        )
        return await self._start(engine, turn)

    async def retry(self, message_id: str, fields: RetryFields) -> Run:
        """Start another answer to a question. `message_id`: the question, or an answer to it. Raises as `ask`."""
        engine = self._host.require()
        message = await self._store.message(message_id)
        _check_finished(message)
        path = await self._store.path(message.id if message.role == "user" else message.parent_id)
        if not path or path[-1].role != "user":
            raise InvalidRequestError("There is no question to answer again", param="id")
        conversation = await self._store.get(message.conversation_id)
        prompt = await self._prompt_of_path(engine, conversation, path)
        sampling = _sampling(conversation, fields.params)
        turn = _TurnDraft(conversation, path[-1], prompt, sampling=sampling, urgency=fields.urgency())
        return await self._start(engine, turn)

    async def explain(self, run_id: str) -> dict[str, Any]:
        """Why not more of its prompt was reused: see `app.reuse_report`. Raises NotFoundError, NotReadyError."""
        engine = self._host.require()
        run = self._runs.get(run_id)
        answer = run.answer if run is not None else await self._store.message_of_run(run_id)
        messages = await self._store.messages(answer.conversation_id)
        if all(message.id != answer.id for message in messages):
            raise NotFoundError(f"The conversation of run {run_id} was deleted", code="run_not_found")
        earlier = await asyncio.to_thread(look_back, messages, answer, engine.tokenizer)
        continuation = run.reuse.known.continuation if run is not None and run.reuse is not None else None
        return reuse_report(answer, earlier, continuation, engine.tokenizer, block_size=engine.config.block_size)

    async def cancel(self, run_id: str) -> Message:
        """Stop a run; returns its answer. Raises NotFoundError."""
        run = self._runs.get(run_id)
        return await self._runs.cancel(run) if run is not None else await self._store.message_of_run(run_id)

    async def delete(self, conversation_id: str) -> None:
        """Remove a conversation, with what is being generated in it; its KV follows soon. Raises NotFoundError."""
        await self._runs.cancel_all_of(conversation_id)
        self._runs.forget_prefixes()
        self._erasure.begin(await self._store.delete(conversation_id))

    async def shown_path(self, conversation: Conversation) -> list[Message]:
        """The messages on the current path, unfinished answers with the text that has come until now."""
        path = await self._store.path(conversation.head_id)
        return [run.answer_so_far if (run := self._runs.get(message.run_id)) else message for message in path]

    async def _start(self, engine: Backend, draft: "_TurnDraft") -> Run:
        run_id = new_id("run")
        stream = generate(
            engine, draft.prompt.ids, draft.sampling, urgency=draft.urgency, request_id=run_id, rename=_field_of
        )

        def abort() -> None:
            engine.abort(stream.request_id)

        # The engine has begun; it must not go on for a turn that could not be stored.
        try:
            answer = draft.answer(run_id, stream.params)
            conversation = await self._store.begin_turn(draft.stored_turn(answer))
        except BaseException:
            abort()
            raise
        opening = {
            "conversation": conversation.to_json(),
            "user_message": draft.question.to_json(),
            "message": answer.to_json(),
        }
        return self._runs.start(answer, opening, stream, abort)

    async def _prompt_of_question(
        self, engine: Backend, conversation: Conversation, path: Sequence[Message], content: str
    ) -> Prompt:
        key = prompt_key(self._host.prompt_identity, conversation.system_prompt)
        prior = joined_ids([message.tokens for message in path], key)
        messages = [*_chat_messages(conversation, path), ChatMessage("user", content)]
        if prior is None:
            return await _rendered(engine, messages, key)
        added = await to_ids(engine, lambda: engine.chat_format.extend(prior, messages), content, param="content")
        return Prompt(prior + added, MessageTokens(pack_ids(added), key))

    async def _prompt_of_path(self, engine: Backend, conversation: Conversation, path: Sequence[Message]) -> Prompt:
        key = prompt_key(self._host.prompt_identity, conversation.system_prompt)
        ids = joined_ids([message.tokens for message in path], key)
        if ids is None:
            return await _rendered(engine, _chat_messages(conversation, path), key)
        return Prompt(ids, path[-1].tokens)


@dataclass(frozen=True, slots=True)
class _TurnDraft:
    """A turn that the engine has not accepted yet. is_new: the question is not stored yet."""

    conversation: Conversation
    question: Message
    prompt: Prompt
    sampling: SamplingParams
    urgency: Urgency
    is_new: bool = False
    check_head: bool = False

    def answer(self, run_id: str, params: SamplingParams) -> Message:
        """The answer in progress; `params` is what the engine really uses."""
        return Message(
            id=new_id("msg"),
            conversation_id=self.conversation.id,
            parent_id=self.question.id,
            role="assistant",
            content="",
            status="in_progress",
            created_at=time.time(),
            run_id=run_id,
            params=_params_json(params),
            tokens=MessageTokens(prompt_key=self.prompt.tokens.prompt_key),
        )

    def stored_turn(self, answer: Message) -> Turn:
        """What the store writes."""
        rendered_again = not self.is_new and self.prompt.tokens != self.question.tokens
        return Turn(
            answer=answer,
            question=self.question if self.is_new else None,
            restarted_user=(self.question.id, self.prompt.tokens) if rendered_again else None,
            title=title_from(self.question.content),
            check_head=self.check_head,
            expected_head=self.conversation.head_id,
        )


async def _rendered(engine: Backend, messages: list[ChatMessage], key: str) -> Prompt:
    text = "".join(message.content for message in messages)
    ids = await to_ids(engine, lambda: engine.chat_format.render(messages), text, param="content")
    return Prompt(ids, MessageTokens(pack_ids(ids), key, starts_prompt=True))


def _chat_messages(conversation: Conversation, path: Sequence[Message]) -> list[ChatMessage]:
    system = [ChatMessage("system", conversation.system_prompt)] if conversation.system_prompt else []
    return system + [ChatMessage(message.role, message.content) for message in path]


def _sampling(conversation: Conversation, params: SamplingFields | None) -> SamplingParams:
    chosen = parse_object(SamplingFields, {**CALM, **conversation.params, **given_params(params)}).sampling_params()
    return chosen if chosen.seed is not None else replace(chosen, seed=secrets.randbits(SEED_BITS))


def _check_parent(path: Sequence[Message], parent_id: str | None, conversation_id: str) -> None:
    if parent_id is None:
        return
    if not path or path[-1].conversation_id != conversation_id:
        raise InvalidRequestError(f"There is no message {parent_id} in this conversation", param="parent_id")
    if path[-1].role != "assistant":
        raise InvalidRequestError("A message can only follow an answer", param="parent_id")
    _check_finished(path[-1])


def _check_finished(message: Message) -> None:
    if message.status == "in_progress":
        raise ConflictError("This answer is still being generated", code="run_in_progress")


def _field_of(engine_param: str) -> str:
    if engine_param in UrgencyFields.model_fields:
        return engine_param
    return "content" if engine_param == "prompt" else f"params.{engine_param}"


def _params_json(params: SamplingParams) -> dict[str, object]:
    return {
        "temperature": params.temperature,
        "top_p": params.top_p,
        "top_k": params.top_k,
        "seed": params.seed,
        "max_tokens": params.max_tokens,
        "min_tokens": params.min_tokens,
        "stop": list(params.stop),
        "ignore_eos": params.ignore_eos,
    }
