"""News for the other servers, which wait to be sent, and the task that sends them."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Generic, TypeVar

from app.storage.connection import DatabaseConnection
from app.storage.database import Database

Name = TypeVar("Name")
News = TypeVar("News")

logger = logging.getLogger(__name__)


class Outbox(Generic[Name, News]):
    """Owner of news that the other servers do not have yet.

    A notice that is lost is not sent again: a server that misses news reads the database, or receives later news.

    waiting: the newest news of each name.
    """

    def __init__(
        self, database: Database, notify: Callable[[Mapping[Name, News], DatabaseConnection], None], subject: str
    ) -> None:
        """Prepare to send.

        notify: sends news by name within a transaction.
        subject: what the news are, for the log.
        """
        self.waiting: dict[Name, News] = {}
        self._database = database
        self._notify = notify
        self._subject = subject
        self._sending: asyncio.Task[None] | None = None

    def send(self) -> None:
        """Send all that waits, unless the task already does."""
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send(), name=f"share-{self._subject}")

    async def stop(self) -> None:
        """Stop sending."""
        if self._sending is not None:
            self._sending.cancel()
            with suppress(asyncio.CancelledError):
                await self._sending

    async def _send(self) -> None:
        while self.waiting:
            waiting, self.waiting = self.waiting, {}
            try:
                await self._database.write(partial(self._notify, waiting), durable=False)
            except Exception as error:
                logger.warning("%d %s did not reach other servers: %s", len(waiting), self._subject, error)
