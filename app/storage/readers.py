"""Pool of read-only database connections, shared fairly among tenants.

A read leases a connection for as long as a thread uses it. Each tenant may lease a limited number of connections at a
time, and a read that exceeds its time limit is interrupted. Long reads of one tenant therefore do not block the others.
"""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from sqlite3 import Row
from typing import TypeVar

from app.domain.storage_health import outage_of
from engine.errors import NotReadyError

T = TypeVar("T")

PRAGMAS = """
    PRAGMA busy_timeout = 5000;
    PRAGMA temp_store = MEMORY;
    PRAGMA query_only = ON;
"""
INTERRUPT_SECONDS = 0.05
"""Seconds between two interrupts of a read over its limit. SQLite ignores an interrupt between two statements."""


class ReadTimeoutError(NotReadyError):
    """503: a read of the database was stopped at its time limit."""

    code = "read_timeout"


class Readers:
    """Owner of the read connections and their threads."""

    def __init__(self, connections: list[sqlite3.Connection], most_of_one: int) -> None:
        self._connections = connections
        self._threads = ThreadPoolExecutor(len(connections), thread_name_prefix="database-reader")
        self._idle = list(connections)
        self._most_of_one = most_of_one
        self._leased: Counter[str] = Counter()
        self._waiting: list[tuple[str, asyncio.Future[sqlite3.Connection]]] = []

    @classmethod
    def open(cls, path: Path, count: int, *, most_of_one: int) -> "Readers":
        """Open `count` connections, of which one tenant may lease at most `most_of_one` at a time."""
        connections = list[sqlite3.Connection]()
        try:
            for _ in range(count):
                # Several threads of the pool use a connection, but never at the same time.
                connections.append(sqlite3.connect(path, isolation_level=None, check_same_thread=False))
                connections[-1].executescript(PRAGMAS)
                connections[-1].row_factory = Row
        except BaseException:
            for connection in connections:
                connection.close()
            raise
        return cls(connections, most_of_one)

    async def run(self, work: Callable[[sqlite3.Connection], T], *, tenant: str, seconds: float) -> T:
        """Run `work` on a leased connection in a reader thread, and return its result.

        The read is interrupted after `seconds`, and if the caller is cancelled.
        Raises ReadTimeoutError, OutageError.
        """
        connection = await self._lease(tenant)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        try:
            running = loop.run_in_executor(self._threads, work, connection)
        except BaseException:
            self._give_back(tenant, connection)
            raise
        interrupting = loop.call_at(deadline, self._interrupt, running, connection)
        running.add_done_callback(lambda _: self._give_back(tenant, connection))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            self._interrupt(running, connection)
            raise
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT and loop.time() >= deadline:
                text = f"Reading the database took longer than {seconds:g} s. Try again later"
                raise ReadTimeoutError(text) from None
            if (outage := outage_of(error)) is not None:
                raise outage from error
            raise
        finally:
            interrupting.cancel()

    async def close(self) -> None:
        """Interrupt the reads in progress, and close the connections."""
        for connection in self._connections:
            connection.interrupt()
        await asyncio.to_thread(partial(self._threads.shutdown, cancel_futures=True))
        for connection in self._connections:
            connection.close()

    async def _lease(self, tenant: str) -> sqlite3.Connection:
        if self._idle and self._leased[tenant] < self._most_of_one:
            self._leased[tenant] += 1
            return self._idle.pop()
        turn: asyncio.Future[sqlite3.Connection] = asyncio.get_running_loop().create_future()
        self._waiting.append((tenant, turn))
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give_back(tenant, turn.result())
            raise

    def _give_back(self, tenant: str, connection: sqlite3.Connection) -> None:
        self._leased[tenant] -= 1
        if not self._leased[tenant]:
            del self._leased[tenant]
        self._idle.append(connection)
        self._hand_out()

    def _hand_out(self) -> None:
        """Lease idle connections to waiting reads: the tenant with the fewest leases first, then the oldest read."""
        self._waiting = [each for each in self._waiting if not each[1].done()]
        while self._idle and self._waiting:
            place = min(range(len(self._waiting)), key=lambda index: self._leased[self._waiting[index][0]])
            tenant, turn = self._waiting[place]
            if self._leased[tenant] >= self._most_of_one:
                return
            del self._waiting[place]
            self._leased[tenant] += 1
            turn.set_result(self._idle.pop())

    def _interrupt(self, running: "asyncio.Future[T]", connection: sqlite3.Connection) -> None:
        if not running.done():
            connection.interrupt()
            asyncio.get_running_loop().call_later(INTERRUPT_SECONDS, self._interrupt, running, connection)
