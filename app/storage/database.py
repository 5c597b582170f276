"""The SQLite file of the conversations: how it is opened, upgraded and written.

One connection writes, another reads; readers never wait for the writer (WAL). A committed transaction survives the
death of the process; with synchronous=NORMAL only a power cut can take back the last ones.

A transaction runs as a whole in the writer's thread. If each of its statements went there and back by itself, each
would wait for its turn on the event loop, and all other writers with it: with a thousand streams that is seconds.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from sqlite3 import Row
from typing import Any, TypeVar, cast

import aiosqlite

from app.storage.search_words import segmented

T = TypeVar("T")

SCHEMA = Path(__file__).with_name("schema")
"""File n (counted from 0, in the order of their names) brings a database of user_version n to n + 1. Files are never
changed once released, only added."""

PRAGMAS = """
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA foreign_keys = ON;
    PRAGMA busy_timeout = 5000;
    PRAGMA temp_store = MEMORY;
"""


class UnusableDatabaseError(Exception):
    """The file was written by a later version of Ebb, is damaged, or cannot be opened. Says what to do."""


class _Statements:
    """The writer's connection inside of a transaction: what `aiosqlite.Connection` has, each call done at once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def execute(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
        """One statement."""
        return self._connection.execute(sql, parameters)

    async def executemany(self, sql: str, parameters: Iterable[Any]) -> sqlite3.Cursor:
        """One statement with many rows."""
        return self._connection.executemany(sql, parameters)

    async def execute_fetchall(self, sql: str, parameters: Any = ()) -> list[Row]:
        """All rows of one statement."""
        return self._connection.execute(sql, parameters).fetchall()


class Database:
    """An open file. Owns both connections and the thread of the writer, in which transactions follow one another."""

    def __init__(self, writer: sqlite3.Connection, thread: ThreadPoolExecutor, reader: aiosqlite.Connection) -> None:
        self._writer = writer
        self._thread = thread
        self._reader = reader
        self._closed = False

    @classmethod
    async def open(cls, path: Path) -> "Database":
        """Open or create the file at `path`, and bring it to the newest schema.

        Raises UnusableDatabaseError.
        """
        thread = ThreadPoolExecutor(1, thread_name_prefix="database")
        try:
            writer = await asyncio.get_running_loop().run_in_executor(thread, _open_writer, path)
            try:
                reader = await aiosqlite.connect(path, isolation_level=None)
            except BaseException:
                writer.close()
                raise
        except BaseException as error:
            thread.shutdown()
            if isinstance(error, sqlite3.Error):
                raise UnusableDatabaseError(
                    f"The conversations in {path} cannot be opened: {error}. `ebb restore` puts a backup in their "
                    "place; --state-dir starts somewhere else"
                ) from error
            raise
        await reader.executescript(PRAGMAS)
        reader.row_factory = Row
        return cls(writer, thread, reader)

    async def close(self) -> None:
        """Close both connections after the writes that have begun; the file is whole at any time, so nothing is lost by
        not calling this. May be called again."""
        if self._closed:
            return
        self._closed = True
        await asyncio.get_running_loop().run_in_executor(self._thread, self._writer.close)
        self._thread.shutdown()
        await self._reader.close()

    async def read(self, sql: str, parameters: Iterable[Any] = ()) -> list[Row]:
        """Rows of one SELECT over committed data."""
        return list(await self._reader.execute_fetchall(sql, parameters))

    async def write(self, work: Callable[[aiosqlite.Connection], Awaitable[T]]) -> T:
        """Run `work` in a transaction of its own. It ends as a whole even if the caller is cancelled meanwhile.

        `work` runs in the writer's thread and may await nothing but its statements.
        """
        running = asyncio.get_running_loop().run_in_executor(self._thread, self._transaction, work)
        return await asyncio.shield(running)

    def _transaction(self, work: Callable[[aiosqlite.Connection], Awaitable[T]]) -> T:
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            result = _done(work(cast(aiosqlite.Connection, _Statements(self._writer))))
            self._writer.execute("COMMIT")
        except BaseException:
            # A failed COMMIT may have rolled back by itself; then there is nothing to roll back.
            with suppress(sqlite3.OperationalError):
                self._writer.execute("ROLLBACK")
            raise
        return result


def _done(work: Awaitable[T]) -> T:
    """What `work` returns, which nothing makes wait."""
    steps = work.__await__()
    try:
        next(steps)
    except StopIteration as end:
        return cast(T, end.value)
    raise RuntimeError("a transaction waits for something else than its statements")


def migrations() -> list[str]:
    """The scripts that make the newest schema, each on top of those before it."""
    return [path.read_text(encoding="utf-8") for path in sorted(SCHEMA.glob("*.sql"))]


def _open_writer(path: Path) -> sqlite3.Connection:
    # Whoever opens it may close it from another thread, if the rest of the start fails.
    writer = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        writer.executescript(PRAGMAS)
        # Called by the triggers that fill the search index.
        writer.create_function("segmented", 1, segmented, deterministic=True)
        _migrate(writer, path)
    except BaseException:
        writer.close()
        raise
    writer.row_factory = Row
    return writer


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    scripts = migrations()
    if version > len(scripts):
        raise UnusableDatabaseError(
            f"The conversations in {path} were written by a later version of Ebb (schema {version}, this one knows "
            f"{len(scripts)}): start that version, or choose another --state-dir"
        )
    for number in range(version, len(scripts)):
        connection.executescript(f"BEGIN; {scripts[number]} PRAGMA user_version = {number + 1}; COMMIT;")
