"""Announcements of changes to the pages that follow at other servers, and from there to the pages here."""

import json
from collections.abc import Callable, Mapping
from typing import Final

from app.runs.changes import Changes
from app.runs.outbox import Outbox
from app.storage.connection import MISSED, NOTICE_CHARACTERS, Connection
from app.storage.database import Database

CHATS: Final = "chats"
"""Topic of notices with a server and a JSON array of changes: tenant, conversation or null, and whether it answered."""

MAX_WAITING: Final = 1000
"""Changes that wait to be sent. Beyond it the pages of the tenants read everything again."""
_CHANGES_OF_A_NOTICE: Final = NOTICE_CHARACTERS // 150


class SharedChanges:
    """Owner of the changes that other servers do not know yet."""

    def __init__(self, database: Database, changes: Changes, is_alone: Callable[[], bool]) -> None:
        """Prepare to send.

        is_alone: whether no other server uses the database, so that nothing is sent.
        """
        self._database = database
        self._changes = changes
        self._is_alone = is_alone
        self._outbox = Outbox[tuple[str, str | None], bool](database, self._notify, "changes")
        changes.share = self.add

    def add(self, tenant: str, conversation_id: str | None, answered: bool) -> None:
        """Send a change to the other servers, if there are any."""
        if self._is_alone():
            return
        waiting = self._outbox.waiting
        change = (tenant, conversation_id if len(waiting) < MAX_WAITING else None)
        waiting[change] = answered or waiting.get(change, False)
        self._outbox.send()

    def heed(self, topic: str, text: str) -> None:
        """Announce the changes in a notice of another server."""
        if topic == MISSED:
            self._changes.miss()
        if topic != CHATS:
            return
        server, changes = json.loads(text)
        if server != self._database.server:
            for tenant, conversation_id, answered in changes:
                self._changes.hear(tenant, conversation_id, answered)

    async def stop(self) -> None:
        """Stop sending."""
        await self._outbox.stop()

    def _notify(self, waiting: Mapping[tuple[str, str | None], bool], connection: Connection) -> None:
        changes = [(*change, answered) for change, answered in waiting.items()]
        for begin in range(0, len(changes), _CHANGES_OF_A_NOTICE):
            part = changes[begin : begin + _CHANGES_OF_A_NOTICE]
            connection.notify(CHATS, json.dumps([self._database.server, part]))
