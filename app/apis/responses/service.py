"""Responses on top of conversations and runs: creation, retrieval, cancellation and deletion."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from app.apis.responses.compaction import (
    Compaction,
    asking_for_summary,
    kept_messages,
    lacking,
    open_summary,
    summary_item,
    with_head_of,
)
from app.apis.responses.diagnostics import diagnostics_json
from app.apis.responses.input_items import (
    CompactionItem,
    InputItem,
    ReasoningItem,
    ReferenceItem,
    RequestItem,
    SaidItem,
    item_of,
)
from app.apis.responses.parsed_answer import parse_apart
from app.apis.responses.prompting import ResponseParent, ResponsePrompts, default_room, thinking_of
from app.apis.responses.replay import Replay
from app.apis.responses.schema import CompactRequest, InputTokensRequest, PromptFields, ResponseRequest
from app.apis.responses.serializer import call_ids, items_json
from app.apis.responses.stored_prefix import StoredPrefix, names_of, stored_prefix
from app.conversations.kv_erasure import KVErasure
from app.conversations.turn_draft import TurnDraft
from app.conversations.turns import Turns, with_seed
from app.domain.records import Conversation, Message, new_id
from app.domain.response_record import (
    REASONING_PREFIX,
    ResponseRecord,
    message_id_of,
    message_id_of_item,
    response_id_of,
)
from app.domain.tool_use import IsResult, MayCall
from app.host.backend import Backend
from app.host.engine_host import EngineHost
from app.prompts.cache_diagnostics import CacheDiagnostics, PromptDigest
from app.prompts.stateless import WholePrompts
from app.prompts.thinking import note_vain_budget
from app.prompts.tokenization import LONG_TEXT, apart_if, never_stop
from app.prompts.tool_offer import ToolOffer
from app.runs.run import Run
from app.runs.service import RunRegistry
from app.storage.store import Store
from app.tenants.gate import TenantGate
from app.tenants.limits import LimitReachedError
from engine.api.errors import ConflictError, InvalidRequestError, NotFoundError
from models.chat.tool_format import ToolFormat

Fields = TypeVar("Fields", bound=PromptFields)
StoredItems = dict[str, dict[str, dict[str, Any]]]
"""Items by the id of their message and their own."""

Note = Callable[[str], None]


def unnoted(_: str) -> None:
    """Do nothing: no client learns of what could not be read."""


SEALED_ELSEWHERE: Final = "[compaction omitted: only the server that made it can read it]"

MANY_ITEMS = 256
"""Number of items whose messages take milliseconds to create, which happens off the event loop."""


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A response as it is now.

    run: set while the run is live and for some time after; None afterwards.
    """

    record: ResponseRecord
    answer: Message
    run: Run | None


class Responses:
    """The responses of a tenant. Connects the store, the turns and the runs."""

    def __init__(
        self,
        *,
        host: EngineHost,
        store: Store,
        runs: RunRegistry,
        turns: Turns,
        prompts: WholePrompts,
        diagnostics: CacheDiagnostics,
        erasure: KVErasure,
        gate: TenantGate,
    ) -> None:
        self._host = host
        self._store = store
        self._runs = runs
        self._turns = turns
        self._prompts = ResponsePrompts(host, prompts, gate)
        self._diagnostics = diagnostics
        self._erasure = erasure
        self._gate = gate

    async def create(
        self, fields: ResponseRequest, stop: Callable[[], None] = never_stop, note: Note = unnoted
    ) -> tuple[ResponseRecord, Run]:
        """Start a response.

        stop: as in `to_ids`. A response in the background begins without its client.
        note: called with the name of an item that cannot be read.

        Raises:
            NotFoundError: the model or the conversation does not exist.
            InvalidRequestError: the previous response does not exist, fields exclude each other, or the engine refuses
                the request. Nothing is stored.
            ConflictError: the message to follow is still being generated.
            NotReadyError, OverloadedError, LimitReachedError: the request cannot be served now.
        """
        fields = await self._resolved(fields, note)
        _check_fields(fields)
        engine = self._host.require(fields.model)
        adapter = self._host.adapter_of(fields.model)
        await self._runs.settle()
        parent = await self._parent(fields)
        _check_ended(parent)
        offer, tools = fields.offer, engine.chat_format.tools
        sampling = offer.applied(fields.sampling_params(engine.sampling_defaults), tools)
        note_vain_budget(engine, sampling, note, fields.client_field)
        asked = await _asked(parent, fields)
        self._gate.check(engine)
        made = await self._prompts.prompt(
            engine,
            parent,
            fields,
            asked,
            max_tokens=fields.max_output_tokens,
            stop=never_stop if fields.background else stop,
        )
        digest, told = await self._compared(engine, parent, fields, asked, made.prompt.ids, adapter)
        is_alone = fields.is_prompt_alone
        # Messages after a prompt without an answer are rendered together with its own.
        new = asked if is_alone else [*asked[:-1], replace(asked[-1], tokens=made.prompt.tokens)]
        is_read = parent.is_new and fields.is_stored and not is_alone
        names = await apart_if(_is_much(asked), lambda: names_of(asked)) if is_read else []
        record = replace(
            _record_of(adapter or engine.model_name, fields, names[-1] if names else None), diagnostics=told
        )
        draft = TurnDraft(
            conversation=parent.conversation,
            question=new[-1],
            prompt=made.prompt,
            sampling=with_seed(sampling),
            urgency=fields.urgency(),
            is_marked=fields.prompt_cache_key is not None or fields.wanted_promise is not None,
            wanted_promise=fields.wanted_promise,
            new=tuple(new),
            check_head=parent.is_named,
            moves_head=parent.is_named and not is_alone,
            has_own_prompt=is_alone,
            is_kept=fields.is_stored,
            makes_conversation=parent.is_new,
            response=record,
            remember=None if is_alone else made.remember,
            tool_use=_may_call(tools, offer) if offer.is_made else None,
            progress_every=0.0 if fields.shows_progress else None,
            adapter=adapter,
        )
        prefix = await stored_prefix(self._store, asked, names) if len(names) > 1 else None
        run = await self._start(engine, draft, prefix, rename=fields.client_field)
        self._diagnostics.keep(engine, self._gate.tenant, response_id_of(run.answer.id), digest)
        return record, run

    async def _start(
        self, engine: Backend, draft: TurnDraft, prefix: StoredPrefix | None, *, rename: Callable[[str], str]
    ) -> Run:
        """Start a turn behind the stored messages that it begins with, or in a separate conversation."""
        if prefix is not None:
            new = await apart_if(_is_much(draft.new), lambda: prefix.rest_of(draft.new, draft.prompt))
            behind = replace(
                draft, conversation=prefix.conversation, question=new[-1], new=tuple(new), makes_conversation=False
            )
            try:
                return await self._turns.start(engine, behind, rename=rename)
            except (NotFoundError, ConflictError):
                # The stored messages were deleted in the meantime.
                pass
            except LimitReachedError as error:
                if error.limit != "items_per_conversation":
                    raise
        return await self._turns.start(engine, draft, rename=rename)

    async def _compared(
        self,
        engine: Backend,
        parent: ResponseParent,
        fields: ResponseRequest,
        asked: Sequence[Message],
        ids: Sequence[int],
        adapter: str,
    ) -> tuple[PromptDigest, dict[str, Any] | None]:
        """Digest a prompt, and compare it with that of the response that the request names, if it names one."""
        tenant, messages = self._gate.tenant, await self._prompts.messages(engine, parent, fields, asked)
        digest = await self._diagnostics.digest(
            engine, tenant, fields.offer, messages, ids, thinking_of(engine, fields), adapter=adapter
        )
        if (earlier := fields.compared_id) is None:
            return digest, None
        return digest, diagnostics_json(await self._diagnostics.compare(engine, tenant, earlier, digest), messages)

    async def count(
        self, fields: InputTokensRequest, stop: Callable[[], None] = never_stop, note: Note = unnoted
    ) -> int:
        """Count the tokens of the prompt that a response would have. Raise as `create` for the same fields.

        stop, note: as in `create`.
        """
        fields = await self._resolved(fields, note)
        _check_prompt_fields(fields)
        engine = self._host.require(fields.model)
        parent = await self._parent(fields)
        self._gate.check(engine)
        made = await self._prompts.prompt(engine, parent, fields, await _asked(parent, fields), stop=stop)
        return len(made.prompt.ids)

    async def compaction(
        self, request: CompactRequest, stop: Callable[[], None] = never_stop, note: Note = unnoted
    ) -> Compaction:
        """Prepare the compaction of the conversation that `request` continues. Stores nothing.

        stop, note: as in `create`.

        Raise InvalidRequestError if there is nothing to compact, and as `create` for the same fields.
        """
        if request.input is None and request.previous_response_id is None:
            raise InvalidRequestError("input or previous_response_id is required", param="input")
        fields = await self._resolved(asking_for_summary(request), note)
        engine = self._host.require(request.model)
        adapter = self._host.adapter_of(request.model)
        await self._runs.settle()
        parent = await self._parent(fields)
        _check_ended(parent)
        if fields.previous_response_id is not None:
            fields = with_head_of(await self._store.responses.get(fields.previous_response_id), fields)
        asked = await _asked(parent, fields)
        self._gate.check(engine)
        room = default_room(engine)
        made = await self._prompts.prompt(
            engine, parent, fields, asked, max_tokens=room, lacking=lacking(fields), stop=stop
        )
        kept = kept_messages([*parent.path, *asked[:-1]])
        maker = None if made.is_headed else self._prompts.maker(engine, parent, fields)
        salt = engine.tenant_salt(self._gate.tenant)
        return Compaction(prompt=made.prompt, kept=kept, max_tokens=room, salt=salt, maker=maker, adapter=adapter)

    async def get(self, response_id: str) -> StoredResponse:
        """Return a response. Raise NotFoundError."""
        record = await self._store.responses.get(response_id)
        answer = await self._store.messages.get(message_id_of(response_id))
        run = await self._runs.find(answer, self._store.tenant)
        return StoredResponse(record, answer if run is None else await parse_apart(run.answer_so_far), run)

    async def replay(self, response: StoredResponse) -> Run | Replay:
        """Return the source of a response's events: its run, or a replay if the run is gone.

        Long answers are replayed in a thread, one at a time. Raise NotReadyError if a replay needs the tokenizer while
        no engine is ready.
        """
        if response.run is not None:
            return response.run
        engine, num_bytes = self._host.model_of(response.answer.tokens.model), len(response.answer.tokens.ids)
        if num_bytes < LONG_TEXT:
            return Replay.of(response.answer, engine)
        async with self._gate.long_text(num_bytes):
            return await asyncio.to_thread(Replay.of, response.answer, engine)

    async def cancel(self, response_id: str) -> StoredResponse:
        """Stop a background response if it has not ended, and return it.

        Raises:
            NotFoundError: the response does not exist.
            InvalidRequestError: the response is not in the background, so only closing its connection stops it.
            CancelPendingError, OutageError: as `Turns.cancel`.
        """
        response = await self.get(response_id)
        if not response.record.background:
            raise InvalidRequestError("Only a background response can be cancelled", param="response_id")
        if response.run is None:
            return response
        return StoredResponse(response.record, await self._turns.cancel(response.run.id), response.run)

    async def delete(self, response_id: str) -> None:
        """Remove a response, and those of its messages that nothing else needs. Their KV is erased soon after.

        Raise NotFoundError.
        """
        response = await self.get(response_id)
        if response.run is not None:
            await self._runs.cancel(response.run.id, self._store.tenant)
        # Without an engine, `Deletions` removes the messages later.
        leaving = self._erasure.leaving if self._host.engine is not None else None
        deleted = await self._store.responses.delete(response_id, leaving)
        if deleted:
            if response.run is not None:
                self._runs.forget(response.run)
            self._runs.forget_prefixes(self._store.tenant)

    async def _resolved(self, fields: Fields, note: Note) -> Fields:
        """Put the stored items in the place of references to them, and messages in the place of compactions.

        Raise InvalidRequestError if a stored item does not exist.
        """
        if isinstance(fields.input, str):
            return fields
        stored: StoredItems = {}
        items = list[RequestItem]()
        for index, item in enumerate(fields.input):
            match item:
                case ReferenceItem():
                    items.append(await self._referenced(item.id, stored, f"input[{index}].id"))
                case CompactionItem():
                    items.append(self._summary(item.encrypted_content, note))
                case _:
                    items.append(item)
        return fields.model_copy(update={"input": items})

    def _summary(self, sealed: str, note: Note) -> InputItem:
        """Return the message in the place of a compaction. One that was not made for this tenant cannot be read."""
        summary = open_summary(sealed, self._host.require().tenant_salt(self._gate.tenant))
        if summary is None:
            note("input.compaction")
            return InputItem(role="assistant", content=SEALED_ELSEWHERE)
        return summary_item(summary)

    async def _referenced(self, item_id: str, stored: StoredItems, param: str) -> SaidItem | ReasoningItem:
        """Return a stored item. stored: items that were read before; those of the item's message are added."""
        if item_id.startswith(REASONING_PREFIX):
            return ReasoningItem(type="reasoning")
        message_id = message_id_of_item(item_id)
        try:
            if message_id not in stored:
                items = items_json(await self._store.messages.get(message_id))
                stored[message_id] = {item["id"]: item for item in items}
            return item_of(stored[message_id][item_id])
        except (NotFoundError, KeyError):
            raise InvalidRequestError(
                f"{param}: there is no stored item {item_id}", param=param, code="item_not_found"
            ) from None

    async def _parent(self, fields: PromptFields) -> ResponseParent:
        if fields.previous_response_id is not None:
            return await self._behind_response(fields.previous_response_id)
        if fields.conversation_id is not None:
            return await self._in_conversation(fields.conversation_id)
        now = time.time()
        conversation = Conversation(
            id=new_id("conv"),
            title=None,
            head_id=None,
            system_prompt=None,
            params={},
            created_at=now,
            updated_at=now,
            source="response",
        )
        return ResponseParent(conversation, [], is_new=True)

    async def _behind_response(self, response_id: str) -> ResponseParent:
        try:
            previous = await self.get(response_id)
        except NotFoundError:
            raise InvalidRequestError(
                f"There is no response {response_id}", param="previous_response_id", code="previous_response_not_found"
            ) from None
        conversation = await self._store.conversations.get(previous.answer.conversation_id)
        return ResponseParent(conversation, await self._path(previous.answer.id))

    async def _in_conversation(self, conversation_id: str) -> ResponseParent:
        conversation = await self._store.conversations.get(conversation_id)
        return ResponseParent(conversation, await self._path(conversation.head_id), is_named=True)

    async def _path(self, message_id: str | None) -> list[Message]:
        """Return the path to a message, without the answers of prompts for which nothing was generated."""
        return [each for each in await self._store.messages.path(message_id) if not each.is_prompt_alone]


def _record_of(model: str, fields: ResponseRequest, input_name: str | None) -> ResponseRecord:
    """Return the stored fields of a request, without its messages. input_name: as in `ResponseRecord`."""
    return ResponseRecord(
        model=model,
        background=bool(fields.background),
        instructions=fields.instructions,
        previous_response_id=fields.previous_response_id,
        conversation_id=fields.conversation_id,
        max_output_tokens=fields.max_output_tokens,
        metadata=fields.metadata or {},
        truncation=fields.truncation or "disabled",
        input_name=input_name,
        **fields.repeated_fields(),
    )


def _is_much(asked: Sequence[Message]) -> bool:
    """Return whether work on all messages takes milliseconds."""
    return len(asked) >= MANY_ITEMS or sum(len(each.content) for each in asked) >= LONG_TEXT


def _check_ended(parent: ResponseParent) -> None:
    if parent.path and parent.path[-1].status == "in_progress":
        raise ConflictError("The answer that this request follows is still being generated", code="conversation_locked")


def _check_prompt_fields(fields: PromptFields) -> None:
    if fields.is_empty:
        raise InvalidRequestError("input must contain at least one message", param="input")
    if fields.previous_response_id is not None and fields.conversation_id is not None:
        raise InvalidRequestError("previous_response_id and conversation cannot be used together", param="conversation")


def _check_fields(fields: ResponseRequest) -> None:
    _check_prompt_fields(fields)
    if not fields.is_stored and fields.background:
        raise InvalidRequestError("store must be true for a background response", param="store")
    if not fields.is_stored and fields.conversation_id is not None:
        raise InvalidRequestError("store must be true for a response in a conversation", param="store")


def _may_call(tools: ToolFormat, offer: ToolOffer) -> MayCall:
    """Return all that the reading of a stored answer's calls depends on."""
    fields = tuple(sorted(tools.syntax.json_fields(offer.known_functions)))
    namespaces = tuple(sorted(" ".join(parts) for parts in offer.namespaces.values()))
    return MayCall(tools.name, offer.parallel, tuple(sorted(offer.custom)), fields, namespaces)


async def _asked(parent: ResponseParent, fields: PromptFields) -> list[Message]:
    """Create the messages of the input, in a thread if there are many. Raise as `_messages`."""
    is_many = len(fields.input) + len(parent.path) >= MANY_ITEMS
    return await apart_if(is_many, lambda: _messages(parent, fields.items))


def _messages(parent: ResponseParent, items: Mapping[str, SaidItem]) -> list[Message]:
    """Create the messages of the input, each following the one before.

    A client that keeps the conversation may have trimmed calls from it, so results are accepted without them.

    Raises:
        InvalidRequestError: a result answers a call that is not in the stored conversation before it.
    """
    now = time.time()
    asked: list[Message] = []
    parent_id = parent.path[-1].id if parent.path else None
    calls = {call_id for message in parent.path for call_id in call_ids(message)}
    for path, item in items.items():
        message = Message(
            id=new_id("msg"),
            conversation_id=parent.conversation.id,
            parent_id=parent_id,
            role=item.stored_role,
            content=item.text,
            status="complete",
            created_at=now,
            completed_at=now,
            tool_use=item.tool_use,
        )
        result = message.tool_use if isinstance(message.tool_use, IsResult) else None
        if result is not None and not parent.is_new and result.call_id not in calls:
            param = f"{path}.call_id"
            raise InvalidRequestError(f"{param}: no call in the stored conversation has this id", param=param)
        calls |= call_ids(message)
        asked.append(message)
        parent_id = message.id
    return asked
