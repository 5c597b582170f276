"""Imports of exported conversations: all of a file or nothing, in short transactions.

Conversations are staged, that is written and hidden, in batches between which other writers have their turn. Then one
transaction shows them. An import that fails, or ends with the process, leaves its staged conversations to be removed.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from app.ids import new_id
from app.records import Conversation, Message
from app.responses.record import ResponseRecord
from app.storage.database import Database
from app.storage.limits import check_room
from app.storage.responses import insert_response
from app.storage.rows import add_conversation, insert_messages

BATCH_MESSAGES = 25
BATCH_CHARACTERS = 65_536
"""Text of one transaction; at least one message."""


@dataclass(frozen=True, slots=True)
class Imported:
    """A conversation of a file.

    source: its name there.
    messages: each after the one that it follows.
    responses: the records of messages that are responses, by message id.
    """

    source: str
    conversation: Conversation
    messages: Sequence[Message]
    responses: Mapping[str, ResponseRecord] = field(default_factory=dict)


class ImportStore:
    """The imports of a tenant."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def add(self, given: Iterable[Imported], *, duplicates: bool) -> list[Imported]:
        """Store conversations; returns those that were stored.

        duplicates: also those that are here already, as conversations in their own right. Without it a conversation
        that has the name of one here, or of one that was imported, is left out. Raises LimitReachedError.
        """
        taken = [one for one in given if duplicates or not await self._is_here(one.source)]
        await self._database.write(lambda each: check_room(each, self._tenant, len(taken)), durable=False)
        import_id = new_id("import")
        try:
            for batch in _batches(taken):
                stage = partial(self._stage, import_id=import_id, batch=batch, with_origin=not duplicates)
                await self._database.write_batch(stage, tenant=self._tenant)
            shown = await self._database.write(partial(self._show, import_id=import_id))
        except BaseException:
            await self._database.write(partial(discard, import_id=import_id))
            raise
        return [one for one in taken if one.conversation.id in shown]

    async def discard_former(self) -> None:
        """Leave to be removed what imports of a former process staged. To be called before the first import."""
        await self._database.write(discard)

    async def _is_here(self, source: str) -> bool:
        sql = (
            "SELECT 1 FROM shown_conversation WHERE id = :source AND tenant = :tenant "
            "UNION ALL SELECT 1 FROM shown_conversation WHERE origin = :source AND tenant = :tenant LIMIT 1"
        )
        given = {"source": source, "tenant": self._tenant}
        return bool(await self._database.read(sql, given, tenant=self._tenant))

    def _stage(
        self, connection: sqlite3.Connection, *, import_id: str, batch: Sequence["_Piece"], with_origin: bool
    ) -> None:
        """Write pieces of hidden conversations. A second copy has no origin, so that an export holds both."""
        for piece in batch:
            if piece.is_first:
                origin = piece.of.source if with_origin else None
                add_conversation(connection, self._tenant, piece.of.conversation, origin=origin, hidden=True)
                connection.execute(
                    "INSERT INTO staged(conversation_id, import_id) VALUES (?, ?)",
                    (piece.of.conversation.id, import_id),
                )
            insert_messages(connection, piece.messages)
            for message in piece.messages:
                if (response := piece.of.responses.get(message.id)) is not None:
                    insert_response(connection, message.id, response)

    def _show(self, connection: sqlite3.Connection, import_id: str) -> set[str]:
        """Show what was staged, without conversations that another import has brought by now; returns their ids."""
        connection.execute(
            "INSERT OR IGNORE INTO removal(conversation_id) "
            "SELECT conversation_id FROM staged JOIN conversation ON conversation.id = conversation_id "
            "WHERE import_id = ? AND origin IS NOT NULL AND EXISTS (SELECT 1 FROM shown_conversation AS other "
            "WHERE other.tenant = conversation.tenant AND other.origin = conversation.origin)",
            (import_id,),
        )
        rows = connection.execute(
            "UPDATE conversation SET deleted_at = NULL WHERE id IN "
            "(SELECT conversation_id FROM staged WHERE import_id = ?) "
            "AND id NOT IN (SELECT conversation_id FROM removal WHERE message_id IS NULL) RETURNING id",
            (import_id,),
        ).fetchall()
        connection.execute("DELETE FROM staged WHERE import_id = ?", (import_id,))
        check_room(connection, self._tenant, 0)
        return {row["id"] for row in rows}


def discard(connection: sqlite3.Connection, import_id: str | None = None) -> None:
    """Leave staged conversations to be removed: those of one import, or of every import of a former process."""
    where, given = ("WHERE import_id = ?", (import_id,)) if import_id is not None else ("", ())
    connection.execute(
        f"INSERT OR IGNORE INTO removal(conversation_id) SELECT conversation_id FROM staged {where}", given
    )
    connection.execute(f"DELETE FROM staged {where}", given)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Messages of a conversation that are written together. is_first: after the conversation itself."""

    of: Imported
    messages: Sequence[Message]
    is_first: bool


def _batches(given: Iterable[Imported]) -> Iterator[list[_Piece]]:
    """Split conversations into what one transaction writes."""
    batch, messages, characters = list[_Piece](), 0, 0
    for one in given:
        for piece in _pieces(one):
            batch.append(piece)
            messages += 1 + len(piece.messages)
            characters += sum(len(message.content) for message in piece.messages)
            if messages >= BATCH_MESSAGES or characters >= BATCH_CHARACTERS:
                yield batch
                batch, messages, characters = [], 0, 0
    if batch:
        yield batch


def _pieces(one: Imported) -> Iterator[_Piece]:
    """Split a conversation into pieces of which none is much larger than a batch."""
    piece, characters, is_first = list[Message](), 0, True
    for message in one.messages:
        piece.append(message)
        characters += len(message.content)
        if len(piece) == BATCH_MESSAGES or characters >= BATCH_CHARACTERS:
            yield _Piece(one, piece, is_first)
            piece, characters, is_first = [], 0, False
    if piece or is_first:
        yield _Piece(one, piece, is_first)
