"""The store of response records, which hold the fields that a response has in addition to its message."""

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final

from app.domain.answer_tokens import TokenNode
from app.domain.response_record import ResponseRecord, message_id_of
from app.storage.connection import DatabaseConnection, Row
from app.storage.database import Database
from app.storage.dialect import Dialect
from app.storage.path_ends import mark_path_end, remove_path_end
from app.storage.removals import Leaving, Removed, without_kv
from app.storage.response_texts import FIELDS, TEXTS, share_text
from app.storage.rows import dump, dump_optional, listed
from engine.api.errors import NotFoundError

_RECORD: Final = tuple(each.name for each in fields(ResponseRecord))
_JSON: Final = ("metadata", "tools", "tool_choice", "text_format")

COLUMNS: Final = ", ".join(("message_id", *(f"response.{name}" for name in _RECORD if name not in FIELDS), TEXTS))
"""The columns of a record in a query of `response`."""
OWN = (
    "message_id IN (SELECT message.id FROM message JOIN conversation ON conversation.id = conversation_id "
    "WHERE message.id = :id AND tenant = :tenant)"
)
BEGUN = """
    SELECT tenant, message_id FROM path_end JOIN message ON message.id = message_id
    JOIN conversation ON conversation.id = message.conversation_id LIMIT 1
"""


def oldest_expiring(dialect: Dialect) -> str:
    """Return the query for the oldest response that may expire.

    Responses of hidden messages are left out: they go with their messages, once these can no longer be restored.
    """
    message = dialect.looked_up("shown_message", "shown_message.id = message_id")
    return (
        f"SELECT tenant, message_id, created_at FROM response {message} "
        "WHERE response.conversation_id IS NULL AND status <> 'in_progress' ORDER BY message_id LIMIT 1"
    )


def with_input(dialect: Dialect) -> str:
    """Return the query for the responses with an input. Parameters: the `listed` names of inputs, and the tenant."""
    response = dialect.looked_up("response", f"response.input_name = {dialect.json_text(0)}")
    message = dialect.looked_up("shown_message", "shown_message.id = message_id")
    return f"SELECT message_id, input_name FROM {dialect.json_items} {response} {message} WHERE tenant = ?"


def insert_response(connection: DatabaseConnection, tenant: str, message_id: str, record: ResponseRecord) -> None:
    """Insert the record of a response, inside the transaction of the caller."""
    values: dict[str, Any] = {name: getattr(record, name) for name in _RECORD}
    values |= {name: dump(values[name]) for name in _JSON}
    values["diagnostics"] = dump_optional(record.diagnostics)
    for name in FIELDS:
        number = share_text(connection, tenant, name, values[name])
        if number is not None:
            values |= {name: "", f"{name}_number": number}
    connection.execute(
        f"INSERT INTO response(message_id, {', '.join(values)}) VALUES (?{', ?' * len(values)})",
        (message_id, *values.values()),
    )


def give_responses(connection: DatabaseConnection, conversation_id: str, tenant: str) -> None:
    """Let a tenant own the responses of a conversation that it takes over, inside the transaction of the caller."""
    rows = connection.fetch_all(
        f"SELECT {COLUMNS} FROM message JOIN response ON message_id = message.id WHERE message.conversation_id = ?",
        (conversation_id,),
    )
    for row in rows:
        connection.execute("DELETE FROM response WHERE message_id = ?", (row["message_id"],))
        insert_response(connection, tenant, row["message_id"], _record_of(row))


class ResponseStore:
    """The responses of a tenant. `remove_expired` covers all tenants.

    Each method except the removals is one transaction or one read. Once a method has returned, its effect survives a
    crash of the process.
    """

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def get(self, response_id: str) -> ResponseRecord:
        """Return the record of a response. Raise NotFoundError."""
        rows = await self._database.read(
            f"SELECT {COLUMNS} FROM response WHERE {OWN}",
            {"id": message_id_of(response_id), "tenant": self._tenant},
            tenant=self._tenant,
        )
        if not rows:
            raise no_response(response_id)
        return _record_of(rows[0])

    async def with_input(self, names: Sequence[str]) -> str | None:
        """Return the answer of the newest response with the last of these inputs that any has; None if none has one."""
        sql = with_input(self._database.dialect)
        rows = await self._database.read(sql, (listed(names), self._tenant), tenant=self._tenant)
        places = {name: place for place, name in enumerate(names)}
        found = max(rows, key=lambda row: (places[row["input_name"]], row["message_id"]), default=None)
        return None if found is None else str(found["message_id"])

    async def all_of(self, conversation_id: str) -> dict[str, ResponseRecord]:
        """Return the records of a conversation's responses, by message id."""
        pairs = await self._database.read_as(
            lambda row: (row["message_id"], _record_of(row)),
            f"SELECT {COLUMNS} FROM shown_message JOIN response ON message_id = shown_message.id "
            "WHERE shown_message.conversation_id = ? AND tenant = ?",
            (conversation_id, self._tenant),
            tenant=self._tenant,
        )
        return dict(pairs)

    async def delete(self, response_id: str, leaving: Leaving | None = without_kv) -> list[TokenNode]:
        """Remove a response, and the messages at the end of its path that nothing else needs.

        A message is needed if it is a response, has a message below it, or is the head of a conversation. Returns the
        tokens of the path if any message was removed. Raise NotFoundError.

        leaving: None leaves the messages to `remove_expired`.
        """
        message_id = message_id_of(response_id)

        def begin(connection: DatabaseConnection) -> None:
            own = {"id": message_id, "tenant": self._tenant}
            if not connection.execute(f"DELETE FROM response WHERE {OWN}", own):
                raise no_response(response_id)
            mark_path_end(connection, message_id)

        await self._database.write(begin)
        return await remove_path_end(self._database, message_id, self._tenant, leaving) if leaving is not None else []

    async def remove_expired(self, until: float, leaving: Leaving = without_kv) -> Removed | None:
        """Remove one response of any tenant: one whose removal has begun, or one created at or before `until`.

        A response in a conversation that the client named stays as long as the conversation. Returns None if there is
        nothing to remove.
        """

        def begin(connection: DatabaseConnection) -> tuple[str, str] | None:
            if (begun := connection.fetch_one(BEGUN)) is not None:
                return begun["tenant"], begun["message_id"]
            oldest = connection.fetch_one(oldest_expiring(connection.dialect))
            if oldest is None or oldest["created_at"] > until:
                return None
            tenant, message_id = oldest["tenant"], oldest["message_id"]
            connection.execute("DELETE FROM response WHERE message_id = ?", (message_id,))
            mark_path_end(connection, message_id)
            return tenant, message_id

        # A removal that a power cut undoes is due again after the restart.
        found = await self._database.write(begin, durable=False)
        if found is None:
            return None
        tenant, message_id = found
        return Removed(tenant, await remove_path_end(self._database, message_id, tenant, leaving))


def _record_of(row: Row) -> ResponseRecord:
    values = {name: row[name] for name in _RECORD}
    values |= {name: json.loads(values[name]) for name in _JSON}
    values["diagnostics"] = row["diagnostics"] and json.loads(row["diagnostics"])
    values |= {name: bool(values[name]) for name in ("background", "parallel_tool_calls")}
    return ResponseRecord(**values)


def no_response(response_id: str) -> NotFoundError:
    """Build the error for an unknown response."""
    return NotFoundError(f"There is no response {response_id}", code="response_not_found")
