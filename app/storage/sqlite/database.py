"""The SQLite file: its connections, and the transactions on them.

A single connection writes. Reads use separate connections and never wait for the writer (WAL). Searches and API keys
have separate connections, because a search may take seconds and every request waits for the keys.

Durable transactions run with synchronous=FULL, the others with NORMAL, set before each transaction.
"""

import asyncio
import os
import resource
import shutil
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from app.config.sizes import format_size
from app.domain.storage_health import StorageFullError
from app.storage.connection import DatabaseConnection
from app.storage.database import Database, ReaderPools
from app.storage.errors import UnusableDatabaseError
from app.storage.sqlite.connection import SQLITE, SqliteConnection, outage_of, translated_errors
from app.storage.sqlite.damage import START_SECONDS, find_damage
from app.storage.sqlite.file_checks import FileIdentity, Mark
from app.storage.sqlite.migrating import migrate
from app.storage.sqlite.readers import SqliteReaders
from app.storage.sqlite.text_index import Fts5Index

T = TypeVar("T")

READERS: Final = 4
SEARCHERS: Final = 2

PRIVATE: Final = 0o600
MIN_FREE: Final = 4 << 20
"""Bytes of free disk with which any upgrade succeeds: a script changes the schema, and no rows."""

PRAGMAS = """
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA foreign_keys = ON;
    PRAGMA busy_timeout = 5000;
    PRAGMA temp_store = MEMORY;
    PRAGMA secure_delete = ON;
"""
"""secure_delete overwrites removed rows with zeros, so that free pages hold no text of a removed chat."""


class SqliteDatabase(Database):
    """Owner of the connections to an open file, and of the writer thread, which runs one transaction at a time."""

    def __init__(
        self,
        writer: SqliteConnection,
        thread: ThreadPoolExecutor,
        pools: ReaderPools,
        identity: FileIdentity,
        mark: Mark,
    ) -> None:
        super().__init__(SQLITE, Fts5Index(), thread, pools, is_shared=False)
        self._writer = writer
        self._identity = identity
        self._mark = mark
        self._closed = False

    @classmethod
    async def open(cls, path: Path) -> "SqliteDatabase":
        """Open or create the file at `path`, and migrate it to the newest schema.

        Raise UnusableDatabaseError.
        """
        thread = ThreadPoolExecutor(1, thread_name_prefix="database")
        try:
            writer = await asyncio.get_running_loop().run_in_executor(thread, _open_writer, path)
            try:
                pools = _open_readers(path)
            except BaseException:
                writer.raw.close()
                raise
        except BaseException as error:
            thread.shutdown()
            if isinstance(error, sqlite3.Error):
                raise UnusableDatabaseError(_why_not_opened(path, error)) from error
            raise
        database = cls(writer, thread, pools, FileIdentity(path), Mark(path))
        database.health.lost = database._mark.missing(_newest_act(writer))
        return database

    async def close(self) -> None:
        """Close the connections once the writes in progress have ended. Calling this again has no effect.

        The file is consistent at any time, so no data is lost if this is never called.
        """
        if self._closed:
            return
        self._closed = True
        await self._pools.close()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._writer.raw.close)
        self._mark.close()
        self._thread.shutdown()

    async def listen(self, on_notice: Callable[[str, str], None]) -> None:
        """Do nothing: a file has one server, which needs no notices."""

    async def probe(self) -> None:
        """Write a page of the file without a change of its content."""
        await self.write(_rewrite_version)

    async def erase_history(self) -> bool:
        """Truncate the write-ahead log, which holds earlier versions of the pages, unless a reader still needs them."""
        # Copies the pages alongside writers. Little is then left to copy while they wait.
        await self.read("PRAGMA wal_checkpoint(PASSIVE)")
        return await self.apart(_truncate_log)

    async def apart(self, work: Callable[[SqliteConnection], T]) -> T:
        """Run `work` in the writer's thread outside of a transaction, for statements that SQLite rejects within one.

        Raise OutageError while the database takes no writes.
        """
        running = asyncio.get_running_loop().run_in_executor(self._thread, self._apart, work)
        return await asyncio.shield(running)

    def _apart(self, work: Callable[[SqliteConnection], T]) -> T:
        with self.health.write(), translated_errors():
            return work(self._writer)

    def _transaction(self, work: Callable[[DatabaseConnection], T], durable: bool) -> T:
        with self.health.write(), translated_errors():
            self._writer.raw.execute(f"PRAGMA busy_timeout = {self.health.patience}")
            return self._in_transaction(work, durable)

    def _in_transaction(self, work: Callable[[DatabaseConnection], T], durable: bool) -> T:
        raw = self._writer.raw
        raw.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        raw.execute("BEGIN IMMEDIATE")
        try:
            result = work(self._writer)
            # After COMMIT, an error of a statement would say that nothing was stored.
            newest = _newest_act(self._writer)
            raw.execute("COMMIT")
        except BaseException:
            # If a failed COMMIT has already rolled back, ROLLBACK raises OperationalError.
            with suppress(sqlite3.OperationalError):
                raw.execute("ROLLBACK")
            raise
        self._identity.check()
        self._mark.note(newest)
        return result


def _why_not_opened(path: Path, error: sqlite3.Error) -> str:
    free = shutil.disk_usage(path.parent).free
    # A full disk may also be reported as one that fails. An upgrade that was cut short continues at the next start.
    if isinstance(outage_of(error), StorageFullError) or free < MIN_FREE:
        return (
            f"The disk of {path} is full ({format_size(free)} free), so the conversations cannot be opened. Nothing is "
            f"lost. Make room, at least {format_size(MIN_FREE)}, then start again"
        )
    longest, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if longest != resource.RLIM_INFINITY:
        return (
            f"The conversations in {path} cannot be opened, where no file may be larger than {format_size(longest)}. "
            "Nothing is lost. Raise the limit (ulimit -f), then start again"
        )
    return (
        f"The conversations in {path} cannot be opened: {error}. `ebb restore` puts a backup in their place; another "
        "--state-dir starts without them"
    )


def _open_readers(path: Path) -> ReaderPools:
    return ReaderPools(
        SqliteReaders.open(path, READERS, most_of_one=READERS // 2),
        SqliteReaders.open(path, SEARCHERS, most_of_one=1),
        SqliteReaders.open(path, 1, most_of_one=1),
    )


def _newest_act(writer: SqliteConnection) -> float:
    return float(writer.raw.execute("SELECT newest FROM server_clock").fetchone()[0])


def _truncate_log(writer: SqliteConnection) -> bool:
    """Truncate the write-ahead log, and return whether no reader was in the way."""
    # The next transaction sets its own patience.
    writer.raw.execute("PRAGMA busy_timeout = 0")
    [(is_busy, _, _)] = writer.fetch_all("PRAGMA wal_checkpoint(TRUNCATE)")
    return not is_busy


def _rewrite_version(connection: DatabaseConnection) -> None:
    [[version]] = connection.fetch_all("PRAGMA user_version")
    connection.execute(f"PRAGMA user_version = {version}")


def _open_writer(path: Path) -> SqliteConnection:
    make_private(path)
    # If the rest of the startup fails, a thread other than the one that opened the connection may close it.
    writer = SqliteConnection.open(path)
    try:
        writer.raw.executescript(PRAGMAS)
        migrate(writer.raw, path)
        if faults := find_damage(writer.raw, START_SECONDS):
            raise sqlite3.DatabaseError(f"the file is damaged: {faults[0]}")
    except BaseException:
        writer.raw.close()
        raise
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
