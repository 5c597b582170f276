"""Conversion of an exported file to conversations that can be stored: with new ids, as whole trees or not at all.

The file is read in pieces, a message at a time, since a thread that parses 64 MiB in one piece holds up the event loop
for seconds.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.conversations.json_reader import JsonReader, encoding_of, text_of
from app.domain.bounds import MAX_FOLDERS, MAX_IMPORTED
from app.domain.folder import FolderLevel
from app.domain.records import Conversation, Message, new_id, new_ids
from app.domain.response_record import ResponseRecord, message_id_of, response_id_of
from app.domain.token_history import MessageTokens
from app.domain.tool_use import tool_use_of
from app.schemas.conversations import distinct, given_params
from app.schemas.imports import IMPORT_BOUNDS, ImportedFields, ImportHead, MessageFields
from app.schemas.json_bounds import check_bounds
from app.schemas.parsing import parse_object
from app.storage.imports import Imported
from engine.api.errors import InvalidRequestError

_KEPT = (
    "role",
    "content",
    "reasoning",
    "status",
    "finish_reason",
    "usage",
    "params",
    "left_out",
    "summary",
    "rating",
    "rating_note",
    "merged",
    "created_at",
    "completed_at",
)


def read_file(body: bytes) -> list[Imported]:
    """Read the conversations of a file. Token ids in the file are ignored: the next turn makes them.

    Raise InvalidRequestError, naming the field: a value is wrong, the messages form no tree, or the file is too big.
    """
    return read_own(JsonReader(checked_text(body)))


def checked_text(body: bytes) -> str:
    """Return the text of a file. Raise InvalidRequestError if it has too many values."""
    text = text_of(body)
    check_bounds(body if encoding_of(body) == "utf-8-sig" else text.encode(), IMPORT_BOUNDS)
    return text


def is_own(first_member: str | None) -> bool:
    """Return whether an object that begins with this member is a file that Ebb exported."""
    return first_member is None or first_member in ImportHead.model_fields


def read_own(reader: JsonReader) -> list[Imported]:
    """Read the conversations of a file that Ebb exported. Raise as `read_file`."""
    if not reader.next_is("{"):
        raise InvalidRequestError("The body must be a JSON object", code="invalid_json")
    head, conversations, count = dict[str, Any](), list[Imported](), 0
    for name in reader.members():
        if name == "folders" and reader.next_is("["):
            head[name] = _read_folders(reader)
            continue
        if name != "conversations" or not reader.next_is("["):
            head[name] = reader.value()
            continue
        head[name] = conversations
        for index in reader.elements():
            given = _read_conversation(reader, index)
            count += 1 + len(given.messages)
            if count > MAX_IMPORTED:
                raise InvalidRequestError(
                    f"The file has more than {MAX_IMPORTED} conversations and messages. Export it in parts "
                    "(/api/export?parts=true), or export conversations one by one",
                    param="conversations",
                )
            conversations.append(_imported(given, f"conversations[{index}]", reader.on_value))
    reader.end()
    folders = parse_object(ImportHead, head).folders
    if len({each.source for each in conversations}) < len(conversations):
        raise InvalidRequestError("Two conversations have the same id", param="conversations")
    prompts = {tuple(each.path): each.system_prompt for each in folders}
    return [replace(each, folder=_with_prompts(each.folder, prompts)) for each in conversations]


def _read_folders(reader: JsonReader) -> list[Any]:
    folders = list[Any]()
    for _ in reader.elements():
        if len(folders) == MAX_FOLDERS:
            raise InvalidRequestError(f"The file has more than {MAX_FOLDERS} folders with prompts", param="folders")
        folders.append(reader.value())
    return folders


def _read_conversation(reader: JsonReader, index: int) -> ImportedFields:
    at: tuple[str | int, ...] = ("conversations", index)
    if not reader.next_is("{"):
        raise InvalidRequestError(
            f"conversations[{index}]: Input should be a JSON object", param=f"conversations[{index}]"
        )
    fields = dict[str, Any]()
    for name in reader.members():
        if name == "messages" and reader.next_is("["):
            fields[name] = [_checked_message(reader.value(), (*at, "messages", number)) for number in reader.elements()]
        else:
            fields[name] = reader.value()
    return parse_object(ImportedFields, fields, at)


def _checked_message(value: Any, at: tuple[str | int, ...]) -> MessageFields:
    if not isinstance(value, dict):
        path = f"conversations[{at[1]}].messages[{at[3]}]"
        raise InvalidRequestError(f"{path}: Input should be a JSON object", param=path)
    return parse_object(MessageFields, value, at)


def _imported(given: ImportedFields, field: str, on_message: Callable[[], None]) -> Imported:
    ordered = _in_order(given.messages, f"{field}.messages")
    ids = dict(zip((message.id for message in ordered), new_ids("msg", len(ordered)), strict=True))
    if given.head_id is not None and given.head_id not in ids:
        raise InvalidRequestError("The head must be a message of this conversation", param=f"{field}.head_id")
    if given.head_id is None and ids and given.source != "response":
        raise InvalidRequestError("A conversation with messages must have a head", param=f"{field}.head_id")
    source = given.title_source or "user"
    conversation = Conversation(
        id=new_id("conv"),
        title=given.title,
        title_source=source if given.title is not None else None,
        head_id=ids[given.head_id] if given.head_id is not None else None,
        system_prompt=given.system_prompt,
        params=given_params(given.params),
        pinned=given.pinned,
        archived=given.archived,
        source=given.source,
        metadata=given.metadata,
        tags=distinct(given.tags),
        created_at=given.created_at,
        updated_at=given.updated_at,
    )
    messages = list[Message]()
    for message in ordered:
        on_message()
        messages.append(_message(message, ids, conversation.id))
    responses = {
        ids[message.id]: _response(message.response.record(), ids, conversation.id)
        for message in ordered
        if message.response is not None
    }
    return Imported(given.id, conversation, messages, responses, given.folder_path())


def _with_prompts(path: Sequence[FolderLevel], prompts: Mapping[tuple[str, ...], str]) -> tuple[FolderLevel, ...]:
    """Return the levels of a path with their system prompts.

    prompts: by the names from the top down to the folder.
    """
    names = tuple(each.name for each in path)
    return tuple(FolderLevel(name, prompts.get(names[: depth + 1])) for depth, name in enumerate(names))


def _message(given: MessageFields, ids: Mapping[str, str], conversation_id: str) -> Message:
    kept: dict[str, Any] = {name: getattr(given, name) for name in _KEPT}
    return Message(
        id=ids[given.id],
        conversation_id=conversation_id,
        parent_id=ids[given.parent_id] if given.parent_id is not None else None,
        error=given.error.model_dump() if given.error is not None else None,
        tool_use=tool_use_of(given.tool_use.model_dump() if given.tool_use is not None else None),
        tokens=MessageTokens(model=given.model),
        **kept,
    )


def _response(given: ResponseRecord, ids: Mapping[str, str], conversation_id: str) -> ResponseRecord:
    """Return a record that names the new messages: a response is a message by another name."""
    previous = given.previous_response_id
    if previous is not None and (message_id := ids.get(message_id_of(previous))) is not None:
        previous = response_id_of(message_id)
    named = None if given.conversation_id is None else conversation_id
    return replace(given, previous_response_id=previous, conversation_id=named)


def _in_order(messages: Sequence[MessageFields], field: str) -> list[MessageFields]:
    """Return each message after the one that it follows. Raise InvalidRequestError if they do not form trees."""
    below: defaultdict[str | None, list[MessageFields]] = defaultdict(list)
    by_id = {message.id: message for message in messages}
    if len(by_id) < len(messages):
        raise InvalidRequestError("Two messages have the same id", param=field)
    for index, message in enumerate(messages):
        if message.parent_id is not None and message.parent_id not in by_id:
            raise InvalidRequestError(
                "The conversation has no message with this id", param=f"{field}[{index}].parent_id"
            )
        below[message.parent_id].append(message)
    ordered, todo = list[MessageFields](), [*reversed(below[None])]
    while todo:
        ordered.append(todo.pop())
        todo += reversed(below[ordered[-1].id])
    if len(ordered) < len(messages):
        raise InvalidRequestError("The messages form a cycle", param=field)
    return ordered
