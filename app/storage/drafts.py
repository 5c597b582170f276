"""What people have typed and not sent yet: one text for each conversation, and one for the empty page."""

import sqlite3
import time
from dataclasses import dataclass
from typing import Any

from app.storage.database import Database
from app.storage.versions import about_to_change

PLACE = "tenant = ? AND coalesce(conversation_id, '') = coalesce(?, '')"


@dataclass(frozen=True, slots=True)
class Draft:
    """updated_at: None while there is none."""

    text: str = ""
    updated_at: float | None = None

    def to_json(self) -> dict[str, Any]:
        """What clients see."""
        return {"text": self.text, "updated_at": self.updated_at}


class DraftStore:
    """Of a conversation of the tenant, or with None of its empty page."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def get(self, conversation_id: str | None) -> Draft:
        """The draft, be it empty. One of an unknown conversation is empty."""
        rows = await self._database.read(
            f"SELECT text, updated_at FROM draft WHERE {PLACE}", (self._tenant, conversation_id), tenant=self._tenant
        )
        return Draft(rows[0]["text"], rows[0]["updated_at"]) if rows else Draft()

    async def put(self, conversation_id: str | None, text: str) -> Draft:
        """Keep it in place of the former one; an empty text is none. Raises NotFoundError."""
        draft = Draft(text, time.time()) if text else Draft()

        def replace(connection: sqlite3.Connection) -> None:
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


def forget_sent(connection: sqlite3.Connection, tenant: str, conversation_id: str, content: str) -> None:
    """`content` is being sent: it is no draft any more, also not on the empty page, from which it may have come."""
    blanks = "char(9, 10, 13, 32)"
    connection.execute(
        f"DELETE FROM draft WHERE tenant = ? AND (conversation_id = ? "
        f"OR (conversation_id IS NULL AND trim(text, {blanks}) = trim(?, {blanks})))",
        (tenant, conversation_id, content),
    )
