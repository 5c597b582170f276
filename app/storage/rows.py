"""Conversion between database rows and records."""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from app.domain.answer_tokens import TokenNode
from app.domain.records import Conversation, Message
from app.domain.token_history import MessageTokens
from app.domain.tool_use import MayCall, dump_tool_use, load_tool_use
from app.storage.connection import DatabaseConnection, Row
from app.storage.dialect import Dialect
from app.storage.limits import check_items, check_room, check_size
from engine.api.errors import NotFoundError

ROWS: Final = 50
"""Most rows of a statement."""
CHARACTERS: Final = 65_536
"""Characters and bytes at which a statement ends, also because PostgreSQL ends a transaction that sends nothing for a
while, and `rows` may take long to compute."""


def insert_rows(connection: DatabaseConnection, into: str, rows: Iterable[Sequence[Any]], then: str = "") -> None:
    """Insert rows inside the transaction of the caller. A row may refer to an earlier one.

    Few statements cost less, and a trigger in PostgreSQL runs once for all rows of a statement.

    into: the table and its columns.
    rows: the values of each row. Consumed between the statements.
    then: the end of each statement, such as ON CONFLICT.
    """
    batch, size = list[Sequence[Any]](), 0
    for row in rows:
        batch.append(row)
        size += sum(len(value) for value in row if isinstance(value, (str, bytes)))
        if len(batch) == ROWS or size >= CHARACTERS:
            _insert(connection, into, batch, then)
            batch, size = [], 0
    if batch:
        _insert(connection, into, batch, then)


def _insert(connection: DatabaseConnection, into: str, rows: Sequence[Sequence[Any]], then: str) -> None:
    places = f"({', '.join('?' * len(rows[0]))})"
    connection.execute(
        f"INSERT INTO {into} VALUES {', '.join([places] * len(rows))} {then}", [value for row in rows for value in row]
    )


MESSAGE_COLUMNS = (
    "id, conversation_id, parent_id, role, content, status, finish_reason, error, usage, run_id, params, "
    "token_ids, prompt_key, starts_prompt, model, created_at, completed_at, reasoning, tool_use, left_out, summary, "
    "rating, rating_note, merged"
)

_CONVERSATION: Final = tuple(each.name for each in fields(Conversation))
_MESSAGE: Final = tuple(each.name for each in fields(Message) if each.name not in ("tokens", "other_tokens"))


def insert_message(connection: DatabaseConnection, message: Message) -> None:
    """Insert a message, inside the transaction of the caller. Raise LimitReachedError."""
    insert_messages(connection, [message])


def owned_among(count: int, condition: str) -> str:
    """Return the condition for `count` conversations of a tenant that meet another one.

    Parameters: their ids and the tenant. CASE leads to no index, so only the ids lead to the rows.
    """
    return f"id IN ({', '.join('?' * count)}) AND CASE WHEN tenant = ? THEN {condition} ELSE FALSE END"


def children_below(dialect: Dialect) -> str:
    """Return the join, in a recursion, of the rows of `below` with the messages that follow them."""
    return dialect.looked_up("message", "message.parent_id = below.id")


def shown_among(dialect: Dialect, view: str = "shown_message") -> str:
    """Return the tables of a query for shown messages or conversations. Parameter: their `listed` ids."""
    return f"{dialect.json_items} {dialect.looked_up(view, f'{view}.id = {dialect.json_text(0)}')}"


def listed(ids: Sequence[str]) -> str:
    """Return ids as the parameter of `shown_among`."""
    return json.dumps([[each] for each in ids])


def insert_messages(connection: DatabaseConnection, messages: Sequence[Message]) -> None:
    """Insert messages, parents before children, inside the transaction of the caller.

    Raise LimitReachedError.
    """
    insert_rows(
        connection,
        f"message({MESSAGE_COLUMNS})",
        (
            (
                message.id,
                message.conversation_id,
                message.parent_id,
                message.role,
                message.content,
                message.status,
                message.finish_reason,
                dump_optional(message.error),
                dump_optional(message.usage),
                message.run_id,
                dump_optional(message.params),
                message.tokens.ids,
                message.tokens.prompt_key,
                message.tokens.starts_prompt,
                message.tokens.model,
                message.created_at,
                message.completed_at,
                message.reasoning,
                dump_tool_use(message.tool_use),
                message.left_out,
                message.summary,
                message.rating,
                message.rating_note,
                message.merged,
            )
            for message in messages
        ),
    )
    if messages:
        check_items(connection, {message.conversation_id for message in messages})


def insert_conversation(connection: DatabaseConnection, tenant: str, made: Conversation) -> None:
    """Insert a conversation, inside the transaction of the caller. Raise LimitReachedError."""
    check_room(connection, tenant, 1)
    add_conversations(connection, tenant, [(made, None)])
    check_size(connection, tenant)


def add_conversations(
    connection: DatabaseConnection,
    tenant: str,
    made: Sequence[tuple[Conversation, str | None]],
    *,
    hidden: bool = False,
) -> None:
    """Insert conversations without checking limits, inside the transaction of the caller.

    made: the conversations, each with its id in the file that it was imported from; None for others and for deliberate
        duplicates.
    hidden: whether the conversations start out hidden, as an import does until it is complete.
    """
    deleted_at = time.time() if hidden else None
    columns = (*_CONVERSATION, "origin", "tenant", "deleted_at")
    rows = []
    for each, origin in made:
        values = {name: getattr(each, name) for name in _CONVERSATION}
        values |= {"params": dump(each.params), "metadata": dump(each.metadata), "tags": dump_tags(each.tags)}
        rows.append((*values.values(), origin, tenant, deleted_at))
    connection.execute_many(
        f"INSERT INTO conversation({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})", rows
    )


def conversation_of(row: Row) -> Conversation:
    """Convert a row of `conversation`."""
    values = {name: row[name] for name in _CONVERSATION}
    for name in ("params", "metadata"):
        # A list has a hundred of them, and most are empty.
        values[name] = {} if values[name] == "{}" else json.loads(values[name])
    for name in ("pinned", "archived", "temporary", "unread"):
        values[name] = bool(values[name])
    values["tags"] = () if values["tags"] is None else tuple(json.loads(values["tags"]))
    return Conversation(**values)


def node_of(row: Row) -> TokenNode:
    """Convert a row of `message` to a node: its tokens and its place in the tree."""
    return TokenNode(row["id"], row["parent_id"], row["role"], tokens_of(row))


def tokens_of(row: Row) -> MessageTokens:
    """Convert the columns of `message` that describe its tokens."""
    return MessageTokens(row["token_ids"], row["prompt_key"], bool(row["starts_prompt"]), row["model"])


def message_of(row: Row) -> Message:
    """Convert a row of `message`. Calls in it are parsed here, on a thread of the database."""
    values = {name: row[name] for name in _MESSAGE}
    for name in ("error", "usage", "params"):
        values[name] = None if values[name] is None else json.loads(values[name])
    values["tool_use"] = load_tool_use(values["tool_use"])
    message = Message(**values, tokens=tokens_of(row))
    if isinstance(message.tool_use, MayCall):
        # The message keeps the parsed calls.
        _ = message.parsed
    return message


def dump(value: Any) -> str:
    """Encode a value as JSON for storage."""
    return json.dumps(value, ensure_ascii=False)


def dump_tags(tags: Sequence[str]) -> str | None:
    """Encode tags for storage. None of them become NULL."""
    return dump(list(tags)) if tags else None


def dump_optional(value: Mapping[str, Any] | None) -> str | None:
    """Encode an object as JSON for storage. None becomes NULL."""
    return None if value is None else dump(value)


def no_message(message_id: str) -> NotFoundError:
    """Build the error for an unknown message."""
    return NotFoundError(f"There is no message {message_id}", code="message_not_found")


def no_conversation(conversation_id: str) -> NotFoundError:
    """Build the error for an unknown conversation."""
    return NotFoundError(f"There is no conversation {conversation_id}", code="conversation_not_found")
