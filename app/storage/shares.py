"""The links of a tenant, and the chats that they show."""

import time
from collections.abc import Callable

from app.domain.records import Message
from app.domain.share import ShareLink
from app.storage.connection import DatabaseConnection, Row
from app.storage.database import Database
from app.storage.messages import PATH_QUERY
from app.storage.rows import message_of, no_conversation
from engine.api.errors import ConflictError, NotFoundError

MAX_SHARES = 200
"""Maximum number of links of a tenant that have not expired."""

# A link to a deleted chat or message does not exist.
_SHARES = (
    "SELECT share.id, share.tenant, share.conversation_id, share.message_id, shown_conversation.title, "
    "share.shows_receipts, share.created_at, share.expires_at FROM share "
    "JOIN shown_conversation ON shown_conversation.id = share.conversation_id "
    "JOIN shown_message ON shown_message.id = share.message_id"
)


class ShareStore:
    """The links of a tenant. Each method is one transaction or one read. `find` covers all tenants."""

    def __init__(self, database: Database, tenant: str, now: Callable[[], float] = time.time) -> None:
        self._database = database
        self._tenant = tenant
        self._now = now

    async def add(self, share: ShareLink, digest: bytes) -> None:
        """Store a link to the conversation up to a message, and remove expired ones.

        Raise NotFoundError: there is no such conversation or message. ConflictError: there are MAX_SHARES.
        """

        def insert(connection: DatabaseConnection) -> None:
            connection.execute("DELETE FROM share WHERE tenant = ? AND expires_at <= ?", (self._tenant, self._now()))
            known = "SELECT 1 FROM shown_message WHERE id = ? AND conversation_id = ? AND tenant = ?"
            if connection.fetch_one(known, (share.message_id, share.conversation_id, self._tenant)) is None:
                raise no_conversation(share.conversation_id)
            [[count]] = connection.fetch_all("SELECT count(*) FROM share WHERE tenant = ?", (self._tenant,))
            if count >= MAX_SHARES:
                raise ConflictError(f"There are {MAX_SHARES} links already: delete one first", code="too_many_shares")
            connection.execute(
                "INSERT INTO share(id, tenant, conversation_id, message_id, digest, shows_receipts, created_at, "
                "expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    share.id,
                    self._tenant,
                    share.conversation_id,
                    share.message_id,
                    digest,
                    share.shows_receipts,
                    share.created_at,
                    share.expires_at,
                ),
            )

        await self._database.write(insert)

    async def all(self) -> list[ShareLink]:
        """Return the links that have not expired, the newest first."""
        return await self._database.read_as(
            _share_of,
            f"{_SHARES} WHERE share.tenant = ? AND share.expires_at > ? ORDER BY share.created_at DESC, share.id",
            (self._tenant, self._now()),
            tenant=self._tenant,
        )

    async def remove(self, share_id: str) -> None:
        """Remove a link. Raise NotFoundError."""

        def delete(connection: DatabaseConnection) -> None:
            sql = "DELETE FROM share WHERE id = ? AND tenant = ?"
            if not connection.execute(sql, (share_id, self._tenant)):
                raise NotFoundError(f"There is no link {share_id}", param="id", code="share_not_found")

        await self._database.write(delete)

    async def find(self, digest: bytes) -> ShareLink | None:
        """Return the link with this digest, of any tenant; None if it does not exist or has expired."""
        found = await self._database.read_as(
            _share_of, f"{_SHARES} WHERE share.digest = ? AND share.expires_at > ?", (digest, self._now())
        )
        return found[0] if found else None

    async def messages(self, share: ShareLink) -> list[Message]:
        """Return the messages that a link shows, from the first to the last."""
        given = (share.message_id, share.tenant)
        return await self._database.read_as(message_of, PATH_QUERY, given, tenant=share.tenant)


def _share_of(row: Row) -> ShareLink:
    return ShareLink(
        id=row["id"],
        tenant=row["tenant"],
        conversation_id=row["conversation_id"],
        message_id=row["message_id"],
        title=row["title"],
        shows_receipts=bool(row["shows_receipts"]),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
    )
