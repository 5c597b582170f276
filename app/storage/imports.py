"""Conversations that were exported, here or elsewhere, come in: all of a file or nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

import aiosqlite

from app.records import Conversation, Message
from app.storage.database import Database
from app.storage.rows import insert_conversations, insert_messages


@dataclass(frozen=True, slots=True)
class Imported:
    """source: its name in the file. messages: each after the one that it follows."""

    source: str
    conversation: Conversation
    messages: Sequence[Message]


class ImportStore:
    """Of a tenant. One transaction: whoever else writes waits for the whole file."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def add(self, given: Sequence[Imported], *, duplicates: bool) -> list[Imported]:
        """Store them; returns those that were stored.

        duplicates: also those that are here already, as conversations in their own right. Else what has the name of a
        conversation here, or of one that was imported, is left out. Raises LimitReachedError.
        """

        async def insert(connection: aiosqlite.Connection) -> list[Imported]:
            taken = [one for one in given if duplicates or not await _is_here(connection, self._tenant, one.source)]
            # A second copy has no name but its own: an export holds both.
            named = [(one.conversation, None if duplicates else one.source) for one in taken]
            await insert_conversations(connection, self._tenant, named)
            for one in taken:
                await insert_messages(connection, one.messages)
            return taken

        return await self._database.write(insert)


async def _is_here(connection: aiosqlite.Connection, tenant: str, source: str) -> bool:
    rows = await connection.execute_fetchall(
        "SELECT 1 FROM shown_conversation WHERE id = :source AND tenant = :tenant "
        "UNION ALL SELECT 1 FROM shown_conversation WHERE origin = :source AND tenant = :tenant",
        {"source": source, "tenant": tenant},
    )
    return bool(list(rows))
