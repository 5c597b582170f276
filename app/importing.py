"""From a file that was exported to conversations that can be stored: under new names, whole trees or none."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from app.ids import new_id
from app.limits import MAX_IMPORTED
from app.records import Conversation, Message
from app.schemas.conversations import given_params
from app.schemas.imports import ImportedFields, ImportFile, MessageFields
from app.storage.imports import Imported
from engine.errors import InvalidRequestError

_KEPT = (
    "role",
    "content",
    "reasoning",
    "status",
    "finish_reason",
    "usage",
    "params",
    "created_at",
    "completed_at",
)
FOLLOWS = {"user": "assistant", "assistant": "user"}


def conversations_of(file: ImportFile) -> list[Imported]:
    """What the file holds. Token ids are not taken from anybody: they are made anew with the next turn.

    Raises InvalidRequestError, naming the field: what hangs together is not a tree of turns, or it is too much.
    """
    if sum(1 + len(each.messages) for each in file.conversations) > MAX_IMPORTED:
        raise InvalidRequestError(
            f"The file has more than {MAX_IMPORTED} conversations and messages; export conversations one by one",
            param="conversations",
        )
    names = [each.id for each in file.conversations]
    if len(set(names)) < len(names):
        raise InvalidRequestError("Two conversations have the same id", param="conversations")
    return [_imported(each, f"conversations[{index}]") for index, each in enumerate(file.conversations)]


def _imported(given: ImportedFields, field: str) -> Imported:
    ordered = _in_order(given.messages, f"{field}.messages")
    ids = {message.id: new_id("msg") for message in ordered}
    if given.head_id is not None and given.head_id not in ids:
        raise InvalidRequestError("The head is no message of this conversation", param=f"{field}.head_id")
    if given.head_id is None and ids:
        raise InvalidRequestError("A conversation with messages has a head", param=f"{field}.head_id")
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
        created_at=given.created_at,
        updated_at=given.updated_at,
    )
    return Imported(given.id, conversation, [_message(message, ids, conversation.id) for message in ordered])


def _message(given: MessageFields, ids: dict[str, str], conversation_id: str) -> Message:
    kept: dict[str, Any] = {name: getattr(given, name) for name in _KEPT}
    return Message(
        id=ids[given.id],
        conversation_id=conversation_id,
        parent_id=ids[given.parent_id] if given.parent_id is not None else None,
        error=given.error.model_dump() if given.error is not None else None,
        **kept,
    )


def _in_order(messages: Sequence[MessageFields], field: str) -> list[MessageFields]:
    """Each after the one that it follows. Raises InvalidRequestError if they are not trees of questions and answers."""
    below: defaultdict[str | None, list[MessageFields]] = defaultdict(list)
    by_id = {message.id: message for message in messages}
    if len(by_id) < len(messages):
        raise InvalidRequestError("Two messages have the same id", param=field)
    for index, message in enumerate(messages):
        parent = by_id.get(message.parent_id) if message.parent_id is not None else None
        if message.parent_id is not None and parent is None:
            raise InvalidRequestError("There is no such message", param=f"{field}[{index}].parent_id")
        if (parent.role if parent is not None else "assistant") != FOLLOWS[message.role]:
            raise InvalidRequestError(
                "A question is the first or follows an answer, and an answer follows a question",
                param=f"{field}[{index}].role",
            )
        below[message.parent_id].append(message)
    ordered, todo = list[MessageFields](), [*reversed(below[None])]
    while todo:
        ordered.append(todo.pop())
        todo += reversed(below[ordered[-1].id])
    if len(ordered) < len(messages):
        raise InvalidRequestError("Messages follow each other in a circle", param=field)
    return ordered
