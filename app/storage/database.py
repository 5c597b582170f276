"""The SQLite file of the conversations: how it is opened, upgraded and written.

One connection writes, another reads; readers never wait for the writer (WAL). A committed transaction survives the
death of the process; with synchronous=NORMAL only a power cut can take back the last ones.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from sqlite3 import Row
from typing import Any, TypeVar

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


class Database:
    """An open file. Owns both connections and the order of the writes."""

    def __init__(self, writer: aiosqlite.Connection, reader: aiosqlite.Connection) -> None:
        self._writer = writer
        self._reader = reader
        self._turn = asyncio.Lock()

    @classmethod
    async def open(cls, path: Path) -> "Database":
        """Open or create the file at `path`, and bring it to the newest schema.

        Raises UnusableDatabaseError.
        """
        try:
            writer = await _opened_writer(path)
            reader = await aiosqlite.connect(path, isolation_level=None)
        except aiosqlite.Error as error:
            raise UnusableDatabaseError(
                f"The conversations in {path} cannot be opened: {error}. `ebb restore` puts a backup in their place; "
                "--state-dir starts somewhere else"
            ) from error
        await reader.executescript(PRAGMAS)
        reader.row_factory = Row
        writer.row_factory = Row
        return cls(writer, reader)

    async def close(self) -> None:
        """Close both connections; the file is whole at any time, so nothing is lost by not calling this."""
        async with self._turn:
            await self._reader.close()
            await self._writer.close()

    async def read(self, sql: str, parameters: Iterable[Any] = ()) -> list[Row]:
        """Rows of one SELECT over committed data."""
        return list(await self._reader.execute_fetchall(sql, parameters))

    async def write(self, work: Callable[[aiosqlite.Connection], Awaitable[T]]) -> T:
        """Run `work` in a transaction of its own. It ends as a whole even if the caller is cancelled meanwhile."""
        return await asyncio.shield(asyncio.ensure_future(self._transaction(work)))

    async def _transaction(self, work: Callable[[aiosqlite.Connection], Awaitable[T]]) -> T:
        async with self._turn:
            await self._writer.execute("BEGIN IMMEDIATE")
            try:
                result = await work(self._writer)
                await self._writer.execute("COMMIT")
            except BaseException:
                # A failed COMMIT may have rolled back by itself; then there is nothing to roll back.
                with suppress(aiosqlite.OperationalError):
                    await self._writer.execute("ROLLBACK")
                raise
            return result


def migrations() -> list[str]:
    """The scripts that make the newest schema, each on top of those before it."""
    return [path.read_text(encoding="utf-8") for path in sorted(SCHEMA.glob("*.sql"))]


async def _opened_writer(path: Path) -> aiosqlite.Connection:
    writer = await aiosqlite.connect(path, isolation_level=None)
    try:
        await writer.executescript(PRAGMAS)
        # Called by the triggers that fill the search index.
        await writer.create_function("segmented", 1, segmented, deterministic=True)
        await _migrate(writer, path)
    except BaseException:
        await writer.close()
        raise
    return writer


async def _migrate(connection: aiosqlite.Connection, path: Path) -> None:
    rows = list(await connection.execute_fetchall("PRAGMA user_version"))
    version: int = rows[0][0]
    scripts = migrations()
    if version > len(scripts):
        raise UnusableDatabaseError(
            f"The conversations in {path} were written by a later version of Ebb (schema {version}, this one knows "
            f"{len(scripts)}): start that version, or choose another --state-dir"
        )
    for number in range(version, len(scripts)):
        await connection.executescript(f"BEGIN; {scripts[number]} PRAGMA user_version = {number + 1}; COMMIT;")
