"""Titles that the model has yet to make, of all tenants.

A row names the first answer of a chat, and the server that titles the chat once this answer has ended. If that server
has no lease any more (`app.storage.servers`), another one takes the title over. A file has one server, which takes over
what the process before it left.
"""

from dataclasses import dataclass
from typing import Final

from app.storage.connection import DatabaseConnection
from app.storage.database import Database
from app.storage.servers import IS_LEFT

MAX_TAKEOVERS: Final = 2
"""Number of times that a title is taken over. If its servers die again, the title is given up: it may be the cause."""

_FIRST_ANSWER: Final = """
    SELECT 1 FROM message AS answer
    JOIN message AS question ON question.id = answer.parent_id
    JOIN conversation ON conversation.id = answer.conversation_id
    WHERE answer.id = ? AND question.parent_id IS NULL AND conversation.title_source = 'first_message'
"""


@dataclass(frozen=True, slots=True)
class DueTitle:
    """A conversation that is to be titled, and its tenant."""

    tenant: str
    conversation_id: str


class DueTitleStore:
    """The titles that are due. A power cut may lose the last changes, and a crash of the process loses none."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, answer_id: str) -> bool:
        """Have this server title the conversation of an answer.

        Returns whether the model may give it a title: the answer is a first one, and the title is the beginning of the
        question. Writes nothing otherwise.
        """
        if not await self._database.read(_FIRST_ANSWER, (answer_id,)):
            return False

        def insert(connection: DatabaseConnection) -> None:
            # The message may have been removed since.
            connection.execute(
                "INSERT INTO due_title(message_id, owner) SELECT id, ? FROM message WHERE id = ? "
                "ON CONFLICT(message_id) DO UPDATE SET owner = excluded.owner",
                (self._database.server, answer_id),
            )

        await self._database.write(insert, durable=False)
        return True

    async def forget(self, answer_id: str) -> None:
        """Drop a title that was made or is not needed, unless another server has taken it over."""
        await self._database.write(
            lambda connection: connection.execute(
                "DELETE FROM due_title WHERE message_id = ? AND owner = ?", (answer_id, self._database.server)
            ),
            durable=False,
        )

    async def find(self, answer_id: str) -> DueTitle | None:
        """Return the conversation that is titled from an answer; None if the answer was removed."""
        rows = await self._database.read(
            "SELECT conversation.tenant AS tenant, conversation.id AS conversation_id "
            "FROM message JOIN conversation ON conversation.id = message.conversation_id WHERE message.id = ?",
            (answer_id,),
        )
        return next((DueTitle(row["tenant"], row["conversation_id"]) for row in rows), None)

    async def take_over(self) -> list[str]:
        """Take over the titles of servers that have ended, and return the ids of their answers.

        The title of an answer in progress stays: the server that continues the answer adds it again.
        """
        left = f"{IS_LEFT} AND NOT EXISTS (SELECT 1 FROM run WHERE run.message_id = due_title.message_id)"
        server = self._database.server
        if not await self._database.read(f"SELECT 1 FROM due_title WHERE {left} LIMIT 1", (server,)):
            return []

        def update(connection: DatabaseConnection) -> list[str]:
            connection.execute(f"DELETE FROM due_title WHERE takeovers >= ? AND {left}", (MAX_TAKEOVERS, server))
            taken = connection.fetch_all(
                f"UPDATE due_title SET owner = ?, takeovers = takeovers + 1 WHERE {left} RETURNING message_id",
                (server, server),
            )
            return [row["message_id"] for row in taken]

        return await self._database.write(update, durable=False)
