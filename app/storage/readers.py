"""Pool of read-only database connections, shared fairly among tenants.

A read leases a connection for as long as a thread uses it. Each tenant may lease a limited number of connections at a
time, and a read that exceeds its time limit is interrupted. Long reads of one tenant therefore do not block the others.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, Generic, TypeVar

from app.storage.connection import DatabaseConnection
from app.storage.errors import ReadTimeoutError
from engine.process.fair_places import FairPlaces

T = TypeVar("T")
C = TypeVar("C", bound=DatabaseConnection)

WAIT_SECONDS = 24.0
"""Seconds for which a read waits for a connection and its result together."""

STUCK_SECONDS = 6.0
"""Seconds after its limit for which an interrupted read is waited for. A disk or a network that hangs may hold it."""

STUCK: Final = "The database does not answer. Try again later"

INTERRUPT_SECONDS = 0.05
"""Seconds between two interrupts of a read over its limit. Databases ignore an interrupt between two statements."""


class Readers(ABC, Generic[C]):
    """Owner of the read connections and their threads. Each database says how to interrupt and to close one."""

    def __init__(self, connections: list[C], most_of_one: int) -> None:
        """Take over the connections.

        most_of_one: connections that one tenant may lease at a time.
        """
        self._connections = connections
        self._threads = ThreadPoolExecutor(len(connections), thread_name_prefix="database-reader")
        self._idle = list(connections)
        self._leases = FairPlaces(len(connections), most_of_one=most_of_one, most_waiting=None)
        self._stuck: set[asyncio.Future[Any]] = set()

    @abstractmethod
    def interrupt(self, connection: C) -> None:
        """End the statement that runs on a connection, if there is one. Never blocks."""

    @abstractmethod
    def prepare(self, connection: C) -> None:
        """Allow a read on a connection whose last one may have been interrupted."""

    @abstractmethod
    def close_one(self, connection: C) -> None:
        """Close a connection that no read uses."""

    @abstractmethod
    def error_of(self, error: Exception, *, is_late: bool) -> Exception | None:
        """Return the error to raise for one of a read; None if the read was stopped at its limit.

        is_late: whether the read has exceeded its time limit.
        """

    async def run(self, work: Callable[[DatabaseConnection], T], *, tenant: str, seconds: float) -> T:
        """Run `work` on a leased connection in a reader thread, and return its result.

        The read is interrupted after `seconds`, and if the caller is cancelled. With the wait for a connection it takes
        at most WAIT_SECONDS, or `seconds` if that is more, and STUCK_SECONDS.
        Raise ReadTimeoutError, OutageError, DatabaseError. While reads hold all connections and cannot be interrupted,
        ReadTimeoutError is raised at once.
        """
        if len(self._stuck) == len(self._connections):
            raise ReadTimeoutError(STUCK)
        loop = asyncio.get_running_loop()
        end = loop.time() + max(seconds, WAIT_SECONDS)
        try:
            async with asyncio.timeout_at(end):
                await self._leases.take(tenant)
        except TimeoutError:
            raise ReadTimeoutError("All connections to the database are in use. Try again later") from None
        connection = self._idle.pop()
        deadline = min(loop.time() + seconds, end)
        try:
            self.prepare(connection)
            running = loop.run_in_executor(self._threads, work, connection)
        except BaseException:
            self._give_back(tenant, connection)
            raise
        interrupting = loop.call_at(deadline, self._interrupt, running, connection)
        running.add_done_callback(partial(self._ended, tenant, connection))
        try:
            await asyncio.wait({running}, timeout=deadline + STUCK_SECONDS - loop.time())
            if not running.done():
                self._stuck.add(running)
                raise ReadTimeoutError(STUCK)
            return running.result()
        except asyncio.CancelledError:
            self._interrupt(running, connection)
            raise
        except Exception as error:
            translated = self.error_of(error, is_late=loop.time() >= deadline)
            if translated is None:
                text = f"Reading the database took longer than {seconds:g} s. Try again later"
                raise ReadTimeoutError(text) from None
            if translated is error:
                raise
            raise translated from error
        finally:
            interrupting.cancel()

    async def close(self) -> None:
        """Interrupt the reads in progress, and close the connections."""
        for connection in self._connections:
            self.interrupt(connection)
        await asyncio.to_thread(partial(self._threads.shutdown, cancel_futures=True))
        for connection in self._connections:
            self.close_one(connection)

    def _ended(self, tenant: str, connection: C, running: "asyncio.Future[Any]") -> None:
        self._stuck.discard(running)
        if not running.cancelled():
            # Read here, in case that the caller was cancelled.
            running.exception()
        self._give_back(tenant, connection)

    def _give_back(self, tenant: str, connection: C) -> None:
        self._idle.append(connection)
        self._leases.free(tenant)

    def _interrupt(self, running: "asyncio.Future[T]", connection: C) -> None:
        if not running.done():
            self.interrupt(connection)
            asyncio.get_running_loop().call_later(INTERRUPT_SECONDS, self._interrupt, running, connection)
