"""The interface of the database of the conversations, behind which each supported database has its implementation.

Committed transactions survive a crash of the process. Durable ones (the default) also survive a power cut.

A transaction runs as a whole in a thread of the database. If each statement were a separate call, it would wait for its
turn on the event loop and block all other writers while it waits. With a thousand streams, that would take seconds.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from app.domain.records import new_id
from app.domain.storage_health import CommitUnknownError, StorageHealth, StorageUnavailableError
from app.storage.batch_turns import BatchTurns
from app.storage.connection import DatabaseConnection, Parameters, Row
from app.storage.dialect import Dialect
from app.storage.readers import Readers
from app.storage.text_index import TextIndex

T = TypeVar("T")

BEGIN_SECONDS: Final = 8.0
WRITE_SECONDS: Final = 30.0

TOO_LATE: Final = "The database is busy or does not answer, and nothing was stored. Try again in a few seconds."
AWAY: Final = "The database does not answer, and nothing was stored. Try again in a few seconds."


class WriteQueue:
    """Writes that wait for the thread, and the one that runs there.

    A write that has not begun within BEGIN_SECONDS is given up. While the database is away, one write at a time tries
    it, and all others are refused at once. A write that has begun cannot be stopped: after WRITE_SECONDS its client
    hears that it may be stored or not.
    """

    def __init__(self, thread: ThreadPoolExecutor, health: StorageHealth) -> None:
        """Take a thread over. Other work of its owner may run there too, and is waited for."""
        self._thread = thread
        self._health = health
        self._num_waiting = 0

    async def run(self, write: Callable[[], T]) -> T:
        """Run `write` in the thread, and return its result. If the caller is cancelled, it still runs to its end.

        Raise what `write` raises, StorageUnavailableError and CommitUnknownError.
        """
        if self._num_waiting and self._health.is_away:
            raise StorageUnavailableError(AWAY)
        running = self._thread.submit(write)
        result = asyncio.wrap_future(running)
        self._num_waiting += 1
        result.add_done_callback(self._ended)
        await asyncio.wait({result}, timeout=BEGIN_SECONDS)
        if not result.done():
            if running.cancel():
                raise self._failed(StorageUnavailableError(TOO_LATE))
            await asyncio.wait({result}, timeout=WRITE_SECONDS - BEGIN_SECONDS)
        if not result.done():
            raise self._failed(CommitUnknownError(_is_stored(running)))
        return result.result()

    def _ended(self, result: "asyncio.Future[T]") -> None:
        self._num_waiting -= 1
        if not result.cancelled():
            # Read here, in case that the caller was cancelled.
            result.exception()

    def _failed(self, error: StorageUnavailableError) -> StorageUnavailableError:
        self._health.fail(error)
        return error


def _is_stored(running: "Future[T]") -> "Future[bool]":
    """Return whether a write that runs is stored in the end."""
    outcome = Future[bool]()
    running.add_done_callback(lambda ended: outcome.set_result(ended.exception() is None))
    return outcome


READ_SECONDS = 15.0
SEARCH_SECONDS = 5.0
SERVER = ""
"""Tenant name for the server's own reads. No tenant has an empty name."""


@dataclass(frozen=True, slots=True)
class ReaderPools:
    """The connections that read.

    searches, keys: apart from the other reads, because a search may take seconds and every request waits for the keys.
    """

    reads: Readers[Any]
    searches: Readers[Any]
    keys: Readers[Any]

    async def close(self) -> None:
        """Close the connections once their reads have ended."""
        for readers in (self.reads, self.searches, self.keys):
            await readers.close()


class Database(ABC):
    """An open database: its reads and its transactions.

    All methods but `close` raise OutageError while the database cannot be used, and DatabaseError if it rejects a
    statement.

    server: name of this process among the servers of the database.
    is_shared: whether other servers may use the database at the same time.
    """

    def __init__(
        self,
        dialect: Dialect,
        text_index: TextIndex,
        thread: ThreadPoolExecutor,
        pools: ReaderPools,
        *,
        is_shared: bool,
    ) -> None:
        """Take over the connections.

        thread: the only thread that uses the connection for transactions.
        """
        self.server = new_id("server")
        self.is_shared = is_shared
        self.dialect = dialect
        self.text_index = text_index
        self.health = StorageHealth()
        self.batches = BatchTurns()
        self._thread = thread
        self._writes = WriteQueue(thread, self.health)
        self._pools = pools

    @abstractmethod
    async def close(self) -> None:
        """Close the connections once the writes in progress have ended. Calling this again has no effect."""

    async def read(self, sql: str, parameters: Parameters = (), *, tenant: str = SERVER) -> list[Row]:
        """Return the rows of one SELECT over committed data. Raise ReadTimeoutError after READ_SECONDS."""
        return await self._pools.reads.run(
            lambda connection: connection.fetch_all(sql, parameters), tenant=tenant, seconds=READ_SECONDS
        )

    async def read_as(
        self, make: Callable[[Row], T], sql: str, parameters: Parameters, *, tenant: str = SERVER
    ) -> list[T]:
        """Return the rows of one SELECT, each converted by `make`.

        The conversion runs in the reader's thread, because there may be many rows.
        Raise ReadTimeoutError after READ_SECONDS.
        """
        return await self._pools.reads.run(
            lambda connection: [make(row) for row in connection.iterate(sql, parameters)],
            tenant=tenant,
            seconds=READ_SECONDS,
        )

    async def read_together(self, work: Callable[[DatabaseConnection], T], *, tenant: str = SERVER) -> T:
        """Run `work`, which makes several SELECTs, in a reader thread, and return its result.

        Each SELECT sees what was committed when it began. Raise ReadTimeoutError after READ_SECONDS.
        """
        return await self._pools.reads.run(work, tenant=tenant, seconds=READ_SECONDS)

    async def search(
        self, work: Callable[[DatabaseConnection], T], *, tenant: str, seconds: float = SEARCH_SECONDS
    ) -> T:
        """Run the search `work` in a reader thread, one per tenant at a time.

        Raise ReadTimeoutError after `seconds`.
        """
        return await self._pools.searches.run(work, tenant=tenant, seconds=seconds)

    async def read_keys(self, work: Callable[[DatabaseConnection], T]) -> T:
        """Run `work` as `read_together` does, on the connection reserved for what decides on access."""
        return await self._pools.keys.run(work, tenant=SERVER, seconds=READ_SECONDS)

    async def write(self, work: Callable[[DatabaseConnection], T], *, durable: bool = True) -> T:
        """Run `work` in a transaction in the writer's thread, and return its result.

        The transaction is committed before this returns. If the caller is cancelled, it still runs to its end.
        A transaction that cannot begin in time is not run. Raise CommitUnknownError if no answer says whether the
        transaction is stored.

        durable: whether the transaction survives a power cut, at the cost of an fsync. Otherwise it survives only a
            crash of the process.
        """
        return await self._writes.run(partial(self._transaction, work, durable))

    @abstractmethod
    def _transaction(self, work: Callable[[DatabaseConnection], T], durable: bool) -> T:
        """Run `work` in a transaction, in the writer's thread. See `write`."""

    async def write_batch(self, work: Callable[[DatabaseConnection], T], *, tenant: str = SERVER) -> T:
        """Run one batch of long work in a transaction that is not durable, when it is the tenant's turn."""
        async with self.batches.turn(tenant) as begin:

            def timed(connection: DatabaseConnection) -> T:
                begin()
                return work(connection)

            return await self.write(timed, durable=False)

    @abstractmethod
    async def listen(self, on_notice: Callable[[str, str], None]) -> None:
        """Call `on_notice` with the topic and the text of each notice from now on. Raise OutageError."""

    @abstractmethod
    async def probe(self) -> None:
        """Write without a change of the content, to find out whether the database takes writes."""

    @abstractmethod
    async def erase_history(self) -> bool:
        """Erase the earlier versions of changed and removed rows, which the database keeps outside of its tables.

        Return whether all of them are erased. A reader of an earlier state may be in the way. Neither the reader nor a
        writer waits for this.
        """
