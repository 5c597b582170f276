"""Atomic import of exported conversations, in short transactions.

Conversations are first staged: written but hidden, in batches, so that other writers get their turn. One
transaction then makes them visible. If an import fails or its process ends, its staged conversations are removed later.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from app.domain.folder import FolderLevel
from app.domain.records import Conversation, Message, new_id
from app.domain.response_record import ResponseRecord
from app.storage.connection import DatabaseConnection
from app.storage.database import Database
from app.storage.folders import folder_at
from app.storage.limits import check_room
from app.storage.responses import insert_response
from app.storage.rows import add_conversations, insert_messages
from app.storage.servers import LIVE

SOURCES_AT_ONCE = 500
"""Sources that are looked up in one read."""
BATCH_MESSAGES = 25
BATCH_CHARACTERS = 65_536
"""Characters of text at which a batch ends. Each batch is one transaction."""


@dataclass(frozen=True, slots=True)
class Imported:
    """A conversation to import.

    source: id of the conversation in the imported file.
    messages: the messages, each after its parent.
    responses: records of the messages that are responses, by message id.
    folder: levels from the top down to the folder to put the conversation into. Missing ones are made.
    """

    source: str
    conversation: Conversation
    messages: Sequence[Message]
    responses: Mapping[str, ResponseRecord] = field(default_factory=dict)
    folder: tuple[FolderLevel, ...] = ()


class ImportStore:
    """Imports of one tenant."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def add(self, given: Sequence[Imported], *, duplicates: bool) -> dict[str, str]:
        """Store the conversations `given`, and return the ids of those that were stored, by source.

        Raise LimitReachedError if the tenant has no room for them.

        given: no two of them have the same source.
        duplicates: whether to store existing conversations again, as separate copies. Otherwise a conversation is
            skipped if its source is the id or the origin of an existing one.
        """
        here = set[str]() if duplicates else await self.are_here([one.source for one in given])
        count = len(given) - len(here)
        await self._database.write(lambda each: check_room(each, self._tenant, count), durable=False)
        import_id = self._database.server + new_id("import")
        try:
            for batch in _batches(one for one in given if one.source not in here):
                stage = partial(self._stage, import_id=import_id, batch=batch, with_origin=not duplicates)
                await self._database.write_batch(stage, tenant=self._tenant)
            folders = {one.conversation.id: one.folder for one in given if one.folder}
            shown = await self._database.write(partial(self._show, import_id=import_id, folders=folders))
        except BaseException:
            await self._database.write(partial(discard, import_id=import_id))
            raise
        return {one.source: one.conversation.id for one in given if one.conversation.id in shown}

    async def discard_former(self) -> None:
        """Mark conversations for removal that were staged by servers that have ended."""
        own = self._database.server
        imports = await self._database.read(
            f"SELECT DISTINCT import_id FROM staged WHERE substr(import_id, 1, :length) <> :own "
            f"AND substr(import_id, 1, :length) NOT IN ({LIVE})",
            {"own": own, "length": len(own)},
        )
        if imports:

            def discard_all(connection: DatabaseConnection) -> None:
                for each in imports:
                    discard(connection, each["import_id"])

            await self._database.write(discard_all)

    async def are_here(self, sources: Sequence[str]) -> set[str]:
        """Return the sources that are ids of conversations, or under which conversations were imported."""
        sql = (
            "SELECT 1 FROM shown_conversation WHERE id = :source AND tenant = :tenant "
            "UNION ALL SELECT 1 FROM shown_conversation WHERE origin = :source AND tenant = :tenant LIMIT 1"
        )

        def found(connection: DatabaseConnection, some: Sequence[str]) -> list[str]:
            return [each for each in some if connection.fetch_one(sql, {"source": each, "tenant": self._tenant})]

        here = set[str]()
        for start in range(0, len(sources), SOURCES_AT_ONCE):
            some = sources[start : start + SOURCES_AT_ONCE]
            here.update(await self._database.read_together(partial(found, some=some), tenant=self._tenant))
        return here

    def _stage(
        self, connection: DatabaseConnection, *, import_id: str, batch: Sequence["_Piece"], with_origin: bool
    ) -> None:
        """Write a batch of pieces as hidden conversations.

        with_origin: whether to record the source. Duplicates have no origin, so that an export holds both copies.
        """
        new = [piece.of for piece in batch if piece.is_first]
        made = [(one.conversation, one.source if with_origin else None) for one in new]
        add_conversations(connection, self._tenant, made, hidden=True)
        connection.execute_many(
            "INSERT INTO staged(conversation_id, import_id) VALUES (?, ?)",
            [(one.conversation.id, import_id) for one in new],
        )
        insert_messages(connection, [message for piece in batch for message in piece.messages])
        for piece in batch:
            for message in piece.messages:
                if (response := piece.of.responses.get(message.id)) is not None:
                    insert_response(connection, self._tenant, message.id, response)

    def _show(
        self, connection: DatabaseConnection, import_id: str, folders: Mapping[str, tuple[FolderLevel, ...]]
    ) -> set[str]:
        """Make the staged conversations visible, put them into their folders, and return their ids.

        folders: levels from the top down to the folder by conversation, where there is one.

        If another import has added the same conversation since, the staged copy is marked for removal instead.
        """
        connection.execute(
            "INSERT INTO removal(conversation_id) "
            "SELECT conversation_id FROM staged JOIN conversation ON conversation.id = conversation_id "
            "WHERE import_id = ? AND origin IS NOT NULL AND EXISTS (SELECT 1 FROM shown_conversation AS other "
            "WHERE other.tenant = conversation.tenant AND other.origin = conversation.origin) ON CONFLICT DO NOTHING",
            (import_id,),
        )
        rows = connection.fetch_all(
            "UPDATE conversation SET deleted_at = NULL WHERE id IN "
            "(SELECT conversation_id FROM staged WHERE import_id = ?) "
            "AND id NOT IN (SELECT conversation_id FROM removal WHERE message_id IS NULL) RETURNING id",
            (import_id,),
        )
        connection.execute("DELETE FROM staged WHERE import_id = ?", (import_id,))
        check_room(connection, self._tenant, 0)
        shown = {row["id"] for row in rows}
        filed = defaultdict[tuple[FolderLevel, ...], list[str]](list)
        for each in shown & folders.keys():
            filed[folders[each]].append(each)
        for path, conversations in filed.items():
            folder_id = folder_at(connection, self._tenant, path)
            connection.execute_many(
                "UPDATE conversation SET folder_id = ? WHERE id = ?", [(folder_id, each) for each in conversations]
            )
        return shown


def discard(connection: DatabaseConnection, import_id: str) -> None:
    """Mark the conversations that an import staged for removal."""
    connection.execute(
        "INSERT INTO removal(conversation_id) SELECT conversation_id FROM staged WHERE import_id = ? "
        "ON CONFLICT DO NOTHING",
        (import_id,),
    )
    connection.execute("DELETE FROM staged WHERE import_id = ?", (import_id,))


@dataclass(frozen=True, slots=True)
class _Piece:
    """Messages of one conversation that are written together.

    is_first: whether the row of the conversation is written first.
    """

    of: Imported
    messages: Sequence[Message]
    is_first: bool


def _batches(given: Iterable[Imported]) -> Iterator[list[_Piece]]:
    """Group conversations into batches of pieces, one per transaction."""
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
    """Split a conversation into pieces that exceed the bounds of a batch only by their last message."""
    piece, characters, is_first = list[Message](), 0, True
    for message in one.messages:
        piece.append(message)
        characters += len(message.content)
        if len(piece) == BATCH_MESSAGES or characters >= BATCH_CHARACTERS:
            yield _Piece(one, piece, is_first)
            piece, characters, is_first = [], 0, False
    if piece or is_first:
        yield _Piece(one, piece, is_first)
