"""Conversations in SQLite: what is written, and when it is safe to say so to a client."""

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from sqlite3 import IntegrityError, Row
from typing import Any

import aiosqlite

from app.database import Database
from app.ids import new_id
from app.records import Conversation, Message, MessageStatus
from app.token_history import ID_BYTES, MessageTokens
from app.token_trails import TokenNode
from engine.errors import ConflictError, NotFoundError

CHANGEABLE = ("title", "system_prompt", "params")

INDEXED_BYTES = 256
"""Of a message's tokens, by the index `message_start`: 64 ids."""

MESSAGE_COLUMNS = (
    "id, conversation_id, parent_id, role, content, status, finish_reason, error, usage, run_id, params, "
    "token_ids, prompt_key, starts_prompt, created_at, completed_at"
)

PATH_QUERY = """
    WITH RECURSIVE path(id, parent_id, depth) AS (
      SELECT id, parent_id, 0 FROM message WHERE id = ?
      UNION ALL
      SELECT message.id, message.parent_id, depth + 1 FROM message JOIN path ON message.id = path.parent_id)
    SELECT message.* FROM path JOIN message USING (id) ORDER BY depth DESC
"""


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn writes at its start: the question, unless it is there already, and its answer in progress.

    expected_head: with `check_head`, the head that the question was meant to follow. title: for a conversation that
    has none yet. restarted_user: new tokens of a question that is already stored.
    """

    answer: Message
    question: Message | None = None
    restarted_user: tuple[str, MessageTokens] | None = None
    title: str | None = None
    check_head: bool = False
    expected_head: str | None = None


@dataclass(frozen=True, slots=True)
class MessageEnd:
    """How an answer ended."""

    content: str
    status: MessageStatus
    finish_reason: str | None
    token_ids: bytes
    usage: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class ConversationStore:
    """Every method is one transaction or one read; once it has returned, its effect outlives the process."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, fields: Mapping[str, Any]) -> Conversation:
        """A new, empty conversation."""
        now = time.time()
        conversation = Conversation(
            id=new_id("conv"),
            title=fields.get("title"),
            head_id=None,
            system_prompt=fields.get("system_prompt"),
            params=fields.get("params", {}),
            created_at=now,
            updated_at=now,
        )

        async def insert(connection: aiosqlite.Connection) -> None:
            await connection.execute(
                "INSERT INTO conversation(id, title, system_prompt, params, created_at, updated_at) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (conversation.id, conversation.title, conversation.system_prompt, _dump(conversation.params), now, now),
            )

        await self._database.write(insert)
        return conversation

    async def all(self) -> list[Conversation]:
        """Newest first."""
        rows = await self._database.read("SELECT * FROM conversation ORDER BY updated_at DESC, id DESC")
        return [_conversation(row) for row in rows]

    async def get(self, conversation_id: str) -> Conversation:
        """Raises NotFoundError."""
        rows = await self._database.read("SELECT * FROM conversation WHERE id = ?", (conversation_id,))
        if not rows:
            raise _no_conversation(conversation_id)
        return _conversation(rows[0])

    async def change(self, conversation_id: str, fields: Mapping[str, Any]) -> Conversation:
        """Set the given ones of title, system_prompt and params. Raises NotFoundError."""
        values = {name: fields[name] for name in CHANGEABLE if name in fields}
        if "params" in values:
            values["params"] = _dump(values["params"])
        assignments = "".join(f"{name} = ?, " for name in values)

        async def update(connection: aiosqlite.Connection) -> None:
            await connection.execute(
                f"UPDATE conversation SET {assignments} updated_at = ? WHERE id = ?",
                (*values.values(), time.time(), conversation_id),
            )

        await self._database.write(update)
        return await self.get(conversation_id)

    async def delete(self, conversation_id: str) -> list[TokenNode]:
        """Remove it with all its messages; returns what tokens these had. Raises NotFoundError."""

        async def remove(connection: aiosqlite.Connection) -> list[Row]:
            nodes = await connection.execute_fetchall(
                "SELECT id, parent_id, role, token_ids, prompt_key, starts_prompt FROM message "
                "WHERE conversation_id = ?",
                (conversation_id,),
            )
            cursor = await connection.execute("DELETE FROM conversation WHERE id = ?", (conversation_id,))
            if not cursor.rowcount:
                raise _no_conversation(conversation_id)
            return list(nodes)

        return [_node(row) for row in await self._database.write(remove)]

    async def starting_like(self, packed: bytes) -> list[tuple[str, bytes]]:
        """The messages that start a prompt with the same first ids, of all conversations: each one's id and tokens.

        Those that begin like it for a while and then part within the first 64 tokens are not among them.
        """
        # A message may be shorter than what is indexed of it, and what follows it is of another one.
        beginnings = [packed[:end] for end in range(ID_BYTES, min(len(packed), INDEXED_BYTES) + 1, ID_BYTES)]
        rows = await self._database.read(
            f"SELECT id, token_ids FROM message WHERE starts_prompt AND substr(token_ids, 1, {INDEXED_BYTES}) IN "
            f"({', '.join('?' * len(beginnings))})",
            beginnings,
        )
        return [(row["id"], row["token_ids"]) for row in rows]

    async def followers(self, message_id: str) -> list[tuple[str, bytes]]:
        """The messages that go on from this one's tokens: each one's id and tokens."""
        rows = await self._database.read(
            "SELECT id, token_ids FROM message WHERE parent_id = ? AND NOT starts_prompt", (message_id,)
        )
        return [(row["id"], row["token_ids"]) for row in rows]

    async def message(self, message_id: str) -> Message:
        """Raises NotFoundError."""
        rows = await self._database.read("SELECT * FROM message WHERE id = ?", (message_id,))
        if not rows:
            raise NotFoundError(f"There is no message {message_id}", code="message_not_found")
        return _message(rows[0])

    async def message_of_run(self, run_id: str) -> Message:
        """The answer that a run wrote. Raises NotFoundError."""
        rows = await self._database.read("SELECT * FROM message WHERE run_id = ?", (run_id,))
        if not rows:
            raise NotFoundError(f"There is no run {run_id}", code="run_not_found")
        return _message(rows[0])

    async def messages(self, conversation_id: str) -> list[Message]:
        """All of a conversation; those that came first come first."""
        sql = "SELECT * FROM message WHERE conversation_id = ? ORDER BY created_at, id"
        return [_message(row) for row in await self._database.read(sql, (conversation_id,))]

    async def path(self, message_id: str | None) -> list[Message]:
        """The messages from the root to `message_id`, inclusive; empty for None and for an unknown id."""
        return [_message(row) for row in await self._database.read(PATH_QUERY, (message_id,))]

    async def begin_turn(self, turn: Turn) -> Conversation:
        """Write a turn's messages, make its answer the head. All or nothing.

        Raises:
            NotFoundError: the conversation was deleted meanwhile.
            ConflictError: its head moved meanwhile, and the question was to follow the head.
        """
        conversation_id = turn.answer.conversation_id

        async def insert(connection: aiosqlite.Connection) -> None:
            rows = list(
                await connection.execute_fetchall("SELECT head_id FROM conversation WHERE id = ?", (conversation_id,))
            )
            if not rows:
                raise _no_conversation(conversation_id)
            if turn.check_head and rows[0]["head_id"] != turn.expected_head:
                raise ConflictError("Another message was sent in this conversation meanwhile", code="head_moved")
            if turn.restarted_user is not None:
                message_id, tokens = turn.restarted_user
                await connection.execute(
                    "UPDATE message SET token_ids = ?, prompt_key = ?, starts_prompt = ? WHERE id = ?",
                    (tokens.ids, tokens.prompt_key, tokens.starts_prompt, message_id),
                )
            for message in (turn.question, turn.answer):
                if message is not None:
                    await _insert_message(connection, message)
            await connection.execute(
                "UPDATE conversation SET head_id = ?, title = coalesce(title, ?), updated_at = ? WHERE id = ?",
                (turn.answer.id, turn.title, turn.answer.created_at, conversation_id),
            )

        try:
            await self._database.write(insert)
        except IntegrityError:
            raise NotFoundError("The message to follow does not exist any more", code="message_not_found") from None
        return await self.get(conversation_id)

    async def finish_message(self, message: Message, end: MessageEnd) -> Message:
        """Give an answer its final form, and return it. Writes nothing if its conversation was deleted."""
        finished = replace(
            message,
            content=end.content,
            status=end.status,
            finish_reason=end.finish_reason,
            error=end.error,
            usage=end.usage,
            tokens=replace(message.tokens, ids=end.token_ids),
            completed_at=time.time(),
        )

        async def update(connection: aiosqlite.Connection) -> None:
            await connection.execute(
                "UPDATE message SET content = ?, status = ?, finish_reason = ?, error = ?, usage = ?, token_ids = ?, "
                "completed_at = ? WHERE id = ?",
                (
                    end.content,
                    end.status,
                    end.finish_reason,
                    _dump_optional(end.error),
                    _dump_optional(end.usage),
                    end.token_ids,
                    finished.completed_at,
                    message.id,
                ),
            )

        await self._database.write(update)
        return finished

    async def save_progress(self, progress: Iterable[tuple[str, str, bytes]]) -> None:
        """Keep what unfinished answers have so far: (message id, content, packed token ids) of each."""
        rows = [(content, token_ids, message_id) for message_id, content, token_ids in progress]

        async def update(connection: aiosqlite.Connection) -> None:
            await connection.executemany(
                "UPDATE message SET content = ?, token_ids = ? WHERE id = ? AND status = 'in_progress'", rows
            )

        await self._database.write(update)

    async def close_unfinished(self) -> int:
        """Mark the answers that a former process left in progress as incomplete; returns how many there were."""

        async def update(connection: aiosqlite.Connection) -> int:
            cursor = await connection.execute(
                "UPDATE message SET status = 'incomplete', completed_at = ? WHERE status = 'in_progress'",
                (time.time(),),
            )
            return cursor.rowcount

        return await self._database.write(update)


async def _insert_message(connection: aiosqlite.Connection, message: Message) -> None:
    await connection.execute(
        f"INSERT INTO message({MESSAGE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            message.id,
            message.conversation_id,
            message.parent_id,
            message.role,
            message.content,
            message.status,
            message.finish_reason,
            _dump_optional(message.error),
            _dump_optional(message.usage),
            message.run_id,
            _dump_optional(message.params),
            message.tokens.ids,
            message.tokens.prompt_key,
            message.tokens.starts_prompt,
            message.created_at,
            message.completed_at,
        ),
    )


def _conversation(row: Row) -> Conversation:
    return Conversation(**{**dict(row), "params": json.loads(row["params"])})


def _node(row: Row) -> TokenNode:
    return TokenNode(row["id"], row["parent_id"], row["role"], _tokens(row))


def _tokens(row: Row) -> MessageTokens:
    return MessageTokens(row["token_ids"], row["prompt_key"], bool(row["starts_prompt"]))


def _message(row: Row) -> Message:
    fields, tokens = dict(row), _tokens(row)
    for name in ("token_ids", "prompt_key", "starts_prompt"):
        del fields[name]
    for name in ("error", "usage", "params"):
        fields[name] = None if fields[name] is None else json.loads(fields[name])
    return Message(**fields, tokens=tokens)


def _dump(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)


def _dump_optional(value: dict[str, Any] | None) -> str | None:
    return None if value is None else _dump(value)


def _no_conversation(conversation_id: str) -> NotFoundError:
    return NotFoundError(f"There is no conversation {conversation_id}", code="conversation_not_found")
