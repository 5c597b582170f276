"""Text that users have typed and not sent yet: one draft per conversation, and one for the start page."""

import time
from dataclasses import dataclass

from app.storage.connection import DatabaseConnection
from app.storage.database import Database
from app.storage.versions import about_to_change

BLANKS = "\t\n\r "
PLACE = "tenant = ? AND coalesce(conversation_id, '') = coalesce(?, '')"


@dataclass(frozen=True, slots=True)
class Draft:
    """The saved text of a draft.

    updated_at: Unix seconds; None while there is no draft.
    """

    text: str = ""
    updated_at: float | None = None


class DraftStore:
    """The drafts of a tenant. The conversation id None stands for the start page."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def get(self, conversation_id: str | None) -> Draft:
        """Return the draft, which may be empty. The draft of an unknown conversation is empty."""
        rows = await self._database.read(
            f"SELECT text, updated_at FROM draft WHERE {PLACE}", (self._tenant, conversation_id), tenant=self._tenant
        )
        return Draft(rows[0]["text"], rows[0]["updated_at"]) if rows else Draft()

    async def put(self, conversation_id: str | None, text: str) -> Draft:
        """Replace the draft. An empty text deletes it. Raise NotFoundError."""
        draft = Draft(text, time.time()) if text else Draft()

        def replace(connection: DatabaseConnection) -> None:
            if conversation_id is not None:
                about_to_change(connection, self._tenant, conversation_id)
            connection.execute(f"DELETE FROM draft WHERE {PLACE}", (self._tenant, conversation_id))
            if text:
                connection.execute(
                    "INSERT INTO draft(tenant, conversation_id, text, updated_at) VALUES (?, ?, ?, ?)",
                    (self._tenant, conversation_id, draft.text, draft.updated_at),
                )

        await self._database.write(replace)
        return draft


def forget_sent(connection: DatabaseConnection, tenant: str, conversation_id: str, content: str) -> None:
    """Delete the draft of a message that is being sent, inside the transaction of the caller.

    A draft with the same text on the start page is deleted too, since the message may have been typed there.
    """
    connection.execute(
        "DELETE FROM draft WHERE tenant = ? "
        "AND (conversation_id = ? OR (conversation_id IS NULL AND trim(text, ?) = ?))",
        (tenant, conversation_id, BLANKS, content.strip(BLANKS)),
    )
