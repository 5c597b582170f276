"""Announcements of changes to the pages that follow at other servers, and from there to the pages here."""

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from app.runs.changes import Changes
from app.storage.connection import MISSED, NOTICE_CHARACTERS, Connection
from app.storage.database import Database

CHATS: Final = "chats"
"""Topic of notices with a server and a JSON array of changes: tenant, conversation or null, and whether it answered."""

MAX_WAITING: Final = 1000
"""Changes that wait to be sent. Beyond it the pages of the tenants read everything again."""
_CHANGES_OF_A_NOTICE: Final = NOTICE_CHARACTERS // 150

logger = logging.getLogger(__name__)


class SharedChanges:
    """Owner of the changes that other servers do not know yet, and of the task that sends them."""

    def __init__(self, database: Database, changes: Changes, is_alone: Callable[[], bool]) -> None:
        """Prepare to send.

        is_alone: whether no other server uses the database, so that nothing is sent.
        """
        self._database = database
        self._changes = changes
        self._is_alone = is_alone
        self._waiting: dict[tuple[str, str | None], bool] = {}
        self._sending: asyncio.Task[None] | None = None
        changes.share = self.add

    def add(self, tenant: str, conversation_id: str | None, answered: bool) -> None:
        """Send a change to the other servers, if there are any."""
        if self._is_alone():
            return
        change = (tenant, conversation_id if len(self._waiting) < MAX_WAITING else None)
        self._waiting[change] = answered or self._waiting.get(change, False)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send(), name="share-changes")

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
        if self._sending is not None:
            self._sending.cancel()
            with suppress(asyncio.CancelledError):
                await self._sending

    async def _send(self) -> None:
        while self._waiting:
            waiting, self._waiting = self._waiting, {}
            changes = [(*change, answered) for change, answered in waiting.items()]
            try:
                await self._database.write(partial(self._notify, changes=changes), durable=False)
            except Exception as error:
                logger.warning("%d changes were not announced to other servers: %s", len(changes), error)

    def _notify(self, connection: Connection, changes: Sequence[tuple[str, str | None, bool]]) -> None:
        for begin in range(0, len(changes), _CHANGES_OF_A_NOTICE):
            part = changes[begin : begin + _CHANGES_OF_A_NOTICE]
            connection.notify(CHATS, json.dumps([self._database.server, part]))
