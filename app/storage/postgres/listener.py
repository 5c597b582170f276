"""Notices between the servers of one database, by LISTEN and NOTIFY.

A separate connection listens. Notices that are sent while it is lost are lost as well, so every reader of notices
also looks at the database from time to time.
"""

import asyncio
import json
import logging
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import psycopg
from psycopg import sql
from psycopg.abc import RV, PQGen

from app.storage.connection import MISSED
from app.storage.postgres.limits import CONNECT_SECONDS, NO_OTHER_LIMITS, with_network_limits

CHANNEL: Final = "'ebb_' || md5(current_schema())"
"""Channels are names of the whole database, which may hold several schemas."""
ALIVE_SECONDS: Final = 15.0
"""Seconds between two questions whether the connection still works: networks drop idle ones without a word."""
ANSWER_SECONDS: Final = 5.0
PAUSE_SECONDS: Final = 1.0

OnNotice = Callable[[str, str], None]

logger = logging.getLogger(__name__)


class ListeningConnection(psycopg.AsyncConnection[tuple[str]]):
    """A connection on which nothing wakes the server between two notices. psycopg's own wakes it ten times a second."""

    async def wait(
        self,
        gen: PQGen[RV],
        interval: float = ALIVE_SECONDS,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is psycopg's
    ) -> RV:
        """Wait as psycopg does, and look for an interrupt every `interval` seconds."""
        return await super().wait(gen, interval, timeout)


class Listener:
    """Owner of the listening connection and its task."""

    def __init__(self, url: str, on_notice: OnNotice) -> None:
        """Prepare to listen.

        on_notice: called with the topic and the text of each notice.
        """
        self._url = url
        self._on_notice = on_notice
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Start to listen. Raise psycopg.Error."""
        self._task = asyncio.create_task(self._listen(await self._connect()), name="listen")

    async def stop(self) -> None:
        """Stop listening."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _listen(self, connection: ListeningConnection) -> None:
        while True:
            try:
                while True:
                    async for notice in connection.notifies(timeout=ALIVE_SECONDS):
                        self._deliver(notice.payload)
                    await _ask(connection)
            except psycopg.Error as error:
                logger.warning("the connection for notices of other servers was lost: %s", error)
            finally:
                await connection.close()
            connection = await self._connected_again()
            self._on_notice(MISSED, "")

    def _deliver(self, payload: str) -> None:
        try:
            topic, text = json.loads(payload)
            self._on_notice(topic, text)
        except Exception:
            # A later version may send something else. The loop must not end.
            logger.exception("a notice of another server was not understood")

    async def _connected_again(self) -> ListeningConnection:
        while True:
            await asyncio.sleep(PAUSE_SECONDS)
            with suppress(psycopg.Error):
                return await self._connect()

    async def _connect(self) -> ListeningConnection:
        connection = await ListeningConnection.connect(
            with_network_limits(self._url), autocommit=True, connect_timeout=CONNECT_SECONDS
        )
        try:
            await connection.execute(NO_OTHER_LIMITS.encode())
            cursor = await connection.execute(f"SELECT {CHANNEL}".encode())
            [channel] = await cursor.fetchone() or ("",)
            await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
        except BaseException:
            await connection.close()
            raise
        return connection


async def _ask(connection: ListeningConnection) -> None:
    """Make sure that PostgreSQL answers on a connection. Raise psycopg.Error."""
    asking = asyncio.create_task(connection.execute("SELECT 1"))
    try:
        done, _ = await asyncio.wait({asking}, timeout=ANSWER_SECONDS)
        if not done:
            raise psycopg.OperationalError("it gave no answer")
        asking.result()
    finally:
        if not asking.done():
            await _end(connection, asking)


async def _end(connection: ListeningConnection, asking: "asyncio.Task[object]") -> None:
    """End a question that PostgreSQL does not answer.

    A cancel of psycopg would ask PostgreSQL to end the statement, and wait for that. Closing the connection would free
    a descriptor that the event loop watches: with its next owner the loop gets lost, and aborts the process.
    """
    with socket.socket(fileno=os.dup(connection.fileno())) as end:
        end.shutdown(socket.SHUT_RDWR)
    await asyncio.wait({asking})
    with suppress(psycopg.Error):
        asking.result()
