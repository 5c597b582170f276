"""What responses have beyond the messages that they are."""

import json
import sqlite3
from dataclasses import fields
from sqlite3 import Row

from app.responses.record import ResponseRecord, message_id_of
from app.storage.database import Database
from app.storage.messages import PATH_QUERY
from app.storage.next_prefixes import next_prefixes_behind
from app.storage.rows import dump, node_of
from app.token_trails import TokenNode
from engine.errors import NotFoundError

OWN = (
    "message_id IN (SELECT message.id FROM message JOIN conversation ON conversation.id = conversation_id "
    "WHERE message.id = :id AND tenant = :tenant)"
)


def insert_response(connection: sqlite3.Connection, message_id: str, record: ResponseRecord) -> None:
    """Inside the transaction of the caller."""
    connection.execute(
        "INSERT INTO response(message_id, model, background, instructions, previous_response_id, conversation_id, "
        "max_output_tokens, metadata, tools, tool_choice, parallel_tool_calls, text_format) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            message_id,
            record.model,
            record.background,
            record.instructions,
            record.previous_response_id,
            record.conversation_id,
            record.max_output_tokens,
            dump(record.metadata),
            dump(record.tools),
            dump(record.tool_choice),
            record.parallel_tool_calls,
            dump(record.text_format),
        ),
    )


class ResponseStore:
    """Of a tenant. Every method is one transaction or one read; once it has returned, its effect outlives the
    process."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def get(self, response_id: str) -> ResponseRecord:
        """Return the record of a response. Raises NotFoundError."""
        rows = await self._database.read(
            f"SELECT * FROM response WHERE {OWN}",
            {"id": message_id_of(response_id), "tenant": self._tenant},
            tenant=self._tenant,
        )
        if not rows:
            raise no_response(response_id)
        return _record_of(rows[0])

    async def all_of(self, conversation_id: str) -> dict[str, ResponseRecord]:
        """Return the records of a conversation's responses, by message id."""
        pairs = await self._database.read_as(
            lambda row: (row["message_id"], _record_of(row)),
            "SELECT response.* FROM shown_message JOIN response ON message_id = shown_message.id "
            "WHERE shown_message.conversation_id = ? AND tenant = ?",
            (conversation_id, self._tenant),
            tenant=self._tenant,
        )
        return dict(pairs)

    async def delete(self, response_id: str) -> list[TokenNode]:
        """Remove it, and its messages as far as nothing follows them and no conversation shows them.

        Returns what tokens the path to it had, if any of its messages went. Raises NotFoundError.
        """
        message_id = message_id_of(response_id)

        def remove(connection: sqlite3.Connection) -> list[Row]:
            own = {"id": message_id, "tenant": self._tenant}
            cursor = connection.execute(f"DELETE FROM response WHERE {OWN}", own)
            if not cursor.rowcount:
                raise no_response(response_id)
            path = list(connection.execute(PATH_QUERY, (message_id, self._tenant)).fetchall())
            ahead = next_prefixes_behind(connection, [row["id"] for row in path])
            # There is no path to what was hidden meanwhile; it goes in its time.
            return [*path, *ahead] if path and _prune(connection, path) else []

        return [node_of(row) for row in await self._database.write(remove)]


def _record_of(row: Row) -> ResponseRecord:
    values = {each.name: row[each.name] for each in fields(ResponseRecord)}
    values |= {name: json.loads(values[name]) for name in ("metadata", "tools", "tool_choice", "text_format")}
    values |= {name: bool(values[name]) for name in ("background", "parallel_tool_calls")}
    return ResponseRecord(**values)


def _prune(connection: sqlite3.Connection, path: list[Row]) -> bool:
    """Delete what is not needed any more from the end of `path`; returns whether anything was."""
    conversation_id, kept = path[0]["conversation_id"], len(path)
    while kept:
        message = {"id": path[kept - 1]["id"], "conversation_id": conversation_id}
        needed = connection.execute(
            "SELECT 1 FROM message WHERE parent_id = :id UNION ALL SELECT 1 FROM response WHERE message_id = :id "
            "UNION ALL SELECT 1 FROM conversation WHERE id = :conversation_id AND head_id = :id LIMIT 1",
            message,
        ).fetchall()
        if list(needed):
            break
        connection.execute("DELETE FROM message WHERE id = :id", message)
        kept -= 1
    connection.execute(
        "DELETE FROM conversation WHERE id = ? AND source = 'response' "
        "AND NOT EXISTS (SELECT 1 FROM message WHERE conversation_id = conversation.id)",
        (conversation_id,),
    )
    return kept < len(path)


def no_response(response_id: str) -> NotFoundError:
    """To be raised."""
    return NotFoundError(f"There is no response {response_id}", code="response_not_found")
