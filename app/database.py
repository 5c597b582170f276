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

T = TypeVar("T")

# Entry n brings a database of user_version n to n + 1. Entries are never changed once released, only added.
MIGRATIONS = (
    """
    CREATE TABLE conversation(
      id TEXT PRIMARY KEY,
      title TEXT,
      head_id TEXT,
      system_prompt TEXT,
      params TEXT NOT NULL DEFAULT '{}',
      created_at REAL NOT NULL,
      updated_at REAL NOT NULL);
    CREATE INDEX conversation_recent ON conversation(updated_at DESC);
    CREATE TABLE message(
      id TEXT PRIMARY KEY,
      conversation_id TEXT NOT NULL REFERENCES conversation(id) ON DELETE CASCADE,
      parent_id TEXT REFERENCES message(id) ON DELETE CASCADE,
      role TEXT NOT NULL CHECK(role IN ('system', 'user', 'assistant')),
      content TEXT NOT NULL,
      status TEXT NOT NULL CHECK(status IN ('in_progress', 'complete', 'incomplete', 'cancelled', 'failed')),
      finish_reason TEXT,
      error TEXT,
      usage TEXT,
      run_id TEXT UNIQUE,
      params TEXT,
      token_ids BLOB NOT NULL,
      prompt_key TEXT NOT NULL,
      starts_prompt INTEGER NOT NULL,
      created_at REAL NOT NULL,
      completed_at REAL);
    CREATE INDEX message_tree ON message(conversation_id, parent_id, created_at);
    CREATE INDEX message_parent ON message(parent_id);
    CREATE INDEX message_unfinished ON message(status) WHERE status = 'in_progress';
    """,
    """
    CREATE INDEX message_start ON message(substr(token_ids, 1, 256)) WHERE starts_prompt;
    """,
)

PRAGMAS = """
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA foreign_keys = ON;
    PRAGMA busy_timeout = 5000;
    PRAGMA temp_store = MEMORY;
"""


class DatabaseTooNewError(Exception):
    """The file was written by a later version of Ebb."""


class Database:
    """An open file. Owns both connections and the order of the writes."""

    def __init__(self, writer: aiosqlite.Connection, reader: aiosqlite.Connection) -> None:
        self._writer = writer
        self._reader = reader
        self._turn = asyncio.Lock()

    @classmethod
    async def open(cls, path: Path) -> "Database":
        """Open or create the file at `path`, and bring it to the newest schema.

        Raises:
            DatabaseTooNewError: a later version of Ebb wrote it.
        """
        writer = await aiosqlite.connect(path, isolation_level=None)
        try:
            await writer.executescript(PRAGMAS)
            await _migrate(writer)
            reader = await aiosqlite.connect(path, isolation_level=None)
        except BaseException:
            await writer.close()
            raise
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


async def _migrate(connection: aiosqlite.Connection) -> None:
    rows = list(await connection.execute_fetchall("PRAGMA user_version"))
    version: int = rows[0][0]
    if version > len(MIGRATIONS):
        raise DatabaseTooNewError(
            f"The conversations were written by a later version of Ebb (schema {version}, this one knows "
            f"{len(MIGRATIONS)})"
        )
    for number in range(version, len(MIGRATIONS)):
        await connection.executescript(f"BEGIN; {MIGRATIONS[number]} PRAGMA user_version = {number + 1}; COMMIT;")
