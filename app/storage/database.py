"""SQLite database of the conversations.

A single connection writes. Reads use separate connections and never wait for the writer (WAL). Searches and API keys
have connections of their own, because a search may take seconds and every request waits for the keys.

Committed transactions survive a crash of the process. Durable ones (the default) also survive a power cut: they run
with synchronous=FULL, the others with NORMAL, set before each transaction.

A transaction runs as a whole in the writer's thread. If each statement were a separate call, it would wait for its turn
on the event loop and block all other writers while it waits. With a thousand streams, that would take seconds.
"""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from sqlite3 import Row
from typing import Any, TypeVar

from app.domain.storage_health import StorageHealth
from app.storage.batch_turns import BatchTurns
from app.storage.damage import START_SECONDS, find_damage
from app.storage.identity import FileIdentity
from app.storage.mark import Mark
from app.storage.migrating import SCHEMA, UnusableDatabaseError, migrate, migrations
from app.storage.readers import Readers
from app.storage.search_words import segmented

__all__ = ["SCHEMA", "Database", "UnusableDatabaseError", "migrations"]

T = TypeVar("T")

READERS = 4
SEARCHERS = 2
READ_SECONDS = 30.0
SEARCH_SECONDS = 5.0
SERVER = ""
"""Tenant name for the server's own reads. No tenant has an empty name."""

PRIVATE = 0o600

PRAGMAS = """
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA foreign_keys = ON;
    PRAGMA busy_timeout = 5000;
    PRAGMA temp_store = MEMORY;
    PRAGMA secure_delete = ON;
"""
"""secure_delete overwrites removed rows with zeros, so that free pages hold no text of a removed chat."""


class Database:
    """Owner of the connections to an open file, and of the writer thread, which runs one transaction at a time."""

    def __init__(
        self,
        writer: sqlite3.Connection,
        thread: ThreadPoolExecutor,
        readers: Readers,
        searchers: Readers,
        key_reader: Readers,
        identity: FileIdentity,
        mark: Mark,
    ) -> None:
        self._writer = writer
        self._thread = thread
        self._readers = readers
        self._searchers = searchers
        self._key_reader = key_reader
        self._identity = identity
        self._mark = mark
        self._closed = False
        self.health = StorageHealth()
        self.batches = BatchTurns()

    @classmethod
    async def open(cls, path: Path) -> "Database":
        """Open or create the file at `path`, and migrate it to the newest schema.

        Raises UnusableDatabaseError.
        """
        thread = ThreadPoolExecutor(1, thread_name_prefix="database")
        try:
            writer = await asyncio.get_running_loop().run_in_executor(thread, _open_writer, path)
            try:
                pools = _open_readers(path)
            except BaseException:
                writer.close()
                raise
        except BaseException as error:
            thread.shutdown()
            if isinstance(error, sqlite3.Error):
                raise UnusableDatabaseError(
                    f"The conversations in {path} cannot be opened: {error}. `ebb restore` puts a backup in their "
                    "place; another --state-dir starts without them"
                ) from error
            raise
        database = cls(writer, thread, *pools, FileIdentity(path), Mark(path))
        database.health.lost = database._mark.missing(_newest_act(writer))
        return database

    async def close(self) -> None:
        """Close the connections once the writes in progress have ended. Calling this again has no effect.

        The file is consistent at any time, so no data is lost if this is never called.
        """
        if self._closed:
            return
        self._closed = True
        for readers in (self._readers, self._searchers, self._key_reader):
            await readers.close()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._writer.close)
        self._mark.close()
        self._thread.shutdown()

    async def read(self, sql: str, parameters: Iterable[Any] = (), *, tenant: str = SERVER) -> list[Row]:
        """Return the rows of one SELECT over committed data. Raises ReadTimeoutError after READ_SECONDS."""
        given = _given(parameters)
        return await self._readers.run(
            lambda connection: connection.execute(sql, given).fetchall(), tenant=tenant, seconds=READ_SECONDS
        )

    async def read_as(
        self, make: Callable[[Row], T], sql: str, parameters: Iterable[Any], *, tenant: str = SERVER
    ) -> list[T]:
        """Return the rows of one SELECT, each converted by `make`.

        The conversion runs in the reader's thread, because there may be many rows.
        Raises ReadTimeoutError after READ_SECONDS.
        """
        given = _given(parameters)
        return await self._readers.run(
            lambda connection: [make(row) for row in connection.execute(sql, given)],
            tenant=tenant,
            seconds=READ_SECONDS,
        )

    async def search(
        self, work: Callable[[sqlite3.Connection], T], *, tenant: str, seconds: float = SEARCH_SECONDS
    ) -> T:
        """Run the search `work` in a reader thread, one per tenant at a time.

        Raises ReadTimeoutError after `seconds`.
        """
        return await self._searchers.run(work, tenant=tenant, seconds=seconds)

    async def read_keys(self, sql: str) -> list[Row]:
        """Return the rows of one SELECT, run on the connection reserved for API keys."""
        return await self._key_reader.run(
            lambda connection: connection.execute(sql).fetchall(), tenant=SERVER, seconds=READ_SECONDS
        )

    async def write(self, work: Callable[[sqlite3.Connection], T], *, durable: bool = True) -> T:
        """Run `work` in a transaction in the writer's thread, and return its result.

        If the caller is cancelled, the transaction still runs to its end.
        Raises OutageError while the database takes no writes.

        durable: whether the transaction survives a power cut, at the cost of an fsync. Otherwise it survives only a
            crash of the process.
        """
        running = asyncio.get_running_loop().run_in_executor(self._thread, self._transaction, work, durable)
        return await asyncio.shield(running)

    async def write_batch(self, work: Callable[[sqlite3.Connection], T], *, tenant: str = SERVER) -> T:
        """Run one batch of long work in a transaction that is not durable, when it is the tenant's turn.

        Raises OutageError as `write` does.
        """
        async with self.batches.turn(tenant) as begin:

            def timed(connection: sqlite3.Connection) -> T:
                begin()
                return work(connection)

            return await self.write(timed, durable=False)

    async def apart(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in the writer's thread outside of a transaction, for statements that SQLite rejects within one.

        Raises OutageError while the database takes no writes.
        """
        running = asyncio.get_running_loop().run_in_executor(self._thread, self._apart, work)
        return await asyncio.shield(running)

    def _apart(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self.health.write():
            return work(self._writer)

    def _transaction(self, work: Callable[[sqlite3.Connection], T], durable: bool) -> T:
        with self.health.write():
            self._writer.execute(f"PRAGMA busy_timeout = {self.health.patience}")
            return self._in_transaction(work, durable)

    def _in_transaction(self, work: Callable[[sqlite3.Connection], T], durable: bool) -> T:
        self._writer.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            result = work(self._writer)
            self._writer.execute("COMMIT")
        except BaseException:
            # If a failed COMMIT has already rolled back, ROLLBACK raises OperationalError.
            with suppress(sqlite3.OperationalError):
                self._writer.execute("ROLLBACK")
            raise
        self._identity.check()
        self._mark.note(_newest_act(self._writer))
        return result


def _given(parameters: Iterable[Any]) -> Any:
    """Return SQL parameters that another thread can read, since an iterator may be bound to the event loop's thread."""
    return parameters if isinstance(parameters, dict | Sequence) else list(parameters)


def _open_readers(path: Path) -> tuple[Readers, Readers, Readers]:
    return (
        Readers.open(path, READERS, most_of_one=READERS // 2),
        Readers.open(path, SEARCHERS, most_of_one=1),
        Readers.open(path, 1, most_of_one=1),
    )


def _newest_act(writer: sqlite3.Connection) -> float:
    return float(writer.execute("SELECT newest FROM server_clock").fetchone()[0])


def _open_writer(path: Path) -> sqlite3.Connection:
    make_private(path)
    # If the rest of the startup fails, a thread other than the one that opened the connection may close it.
    writer = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        writer.executescript(PRAGMAS)
        # Called by the triggers that fill the search index.
        writer.create_function("segmented", 1, segmented, deterministic=True)
        migrate(writer, path)
        if faults := find_damage(writer, START_SECONDS):
            raise sqlite3.DatabaseError(f"the file is damaged: {faults[0]}")
    except BaseException:
        writer.close()
        raise
    writer.row_factory = Row
    return writer


def make_private(path: Path) -> None:
    """Create the database file with access for its owner only, or revoke other users' access to an existing one.

    SQLite creates the WAL and shared-memory files with the same mode.
    """
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE))
    for each in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        with suppress(FileNotFoundError, PermissionError):
            if each.stat().st_mode & 0o077:
                each.chmod(PRIVATE)
