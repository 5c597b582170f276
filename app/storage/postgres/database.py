"""PostgreSQL: its connections, and the transactions on them.

A single connection of each server writes, one transaction at a time. Each transaction holds a lock, so that only one
server writes at a time, and a transaction sees everything that was written before it. Reads use separate connections.
Searches and API keys have separate connections, because a search may take seconds and every request waits for the
keys. A connection that was lost is made again by the next statement.

A transaction that stops between two statements, since its server is frozen, is ended after FROZEN_SECONDS.

Transactions that are not durable do not wait for the disk (`synchronous_commit = off`). After a COMMIT without an
answer, the next connection shows whether the transaction is stored (`app.storage.postgres.doubt`).
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Final, TypeVar

import psycopg
from psycopg import sql
from psycopg.errors import LockNotAvailable, ReadOnlySqlTransaction

from app.config.parsers import place_of
from app.domain.storage_health import CommitUnknownError, StorageUnavailableError
from app.storage.connection import DatabaseConnection
from app.storage.database import Database, ReaderPools
from app.storage.errors import UnusableDatabaseError
from app.storage.postgres.connection import POSTGRES, PostgresConnection
from app.storage.postgres.doubt import Doubt, forget_old, note_number, settle
from app.storage.postgres.errors import translated_errors
from app.storage.postgres.limits import SERVER_NETWORK, Reach
from app.storage.postgres.listener import Listener
from app.storage.postgres.own_schema import COPY_TABLE, OUR_WHOLE_SCHEMA, SCHEMA, VERSION
from app.storage.postgres.readers import PostgresReaders
from app.storage.postgres.requirements import missing_requirement
from app.storage.postgres.text_index import SEARCHING, GinIndex, index_written

T = TypeVar("T")

READERS: Final = 4
SEARCHERS: Final = 2

FROZEN_SECONDS: Final = 3
"""Less than a lease, since no server can renew its lease while another one holds the lock of the transactions."""

LOCK: Final = "hashtextextended('ebb ' || current_schema(), 0)"
"""Lock that servers share. Changes of the schema, and copies of a file, need it alone."""

STARTING_LOCK: Final = "hashtextextended('ebb starting ' || current_schema(), 0)"
"""Lock of a server while it looks at the schema and brings it up to date. Running servers do not hold it."""

TRANSACTION_SECONDS: Final = 15
"""A transaction that gets no answer for so long is given up, with its connection."""

LOOK_SECONDS: Final = 6
"""Time to find out whether a transaction is stored whose COMMIT had no answer."""

NOT_STORED: Final = "The connection to PostgreSQL was lost, and nothing was stored. Try again in a few seconds."

LOCK_SECONDS: Final = 5
STARTING_SECONDS: Final = 60
"""For STARTING_LOCK. Its holder may wait for LOCK itself, and then changes the schema."""

COMMAND: Final = (
    f"SET lock_timeout = '{LOCK_SECONDS}s'",
    f"SET idle_in_transaction_session_timeout = '{FROZEN_SECONDS}s'",
    *SERVER_NETWORK,
)
"""A server that has just ended may hold a lock for a moment: PostgreSQL notices the end of its connection."""

SERVER: Final = (*COMMAND, f"SELECT pg_advisory_lock_shared({LOCK})")
ALONE: Final = (
    f"SET lock_timeout = '{LOCK_SECONDS}s'",
    "SET idle_in_transaction_session_timeout = 0",
    f"SELECT pg_advisory_lock({LOCK})",
)
"""For a copy, whose transactions keep no server waiting."""

BEGIN: Final = "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('ebb write ' || current_schema(), 0))"
BEGIN_NOT_DURABLE: Final = f"{BEGIN}; SET LOCAL synchronous_commit = off"


class PostgresDatabase(Database):
    """Owner of the connections to a database, and of the writer thread, which runs one transaction at a time."""

    def __init__(
        self,
        url: str,
        writer: PostgresConnection,
        thread: ThreadPoolExecutor,
        pools: ReaderPools,
    ) -> None:
        super().__init__(POSTGRES, GinIndex(), thread, pools, is_shared=True)
        self._writer = writer
        self._url = url
        self._listener: Listener | None = None
        self._number = 0
        self._doubt: Doubt | None = None
        self._closed = False

    @classmethod
    async def open(cls, url: str, *, setup: Sequence[str] = SERVER, for_copy: bool = False) -> "PostgresDatabase":
        """Connect to the database at `url`, and bring it to the newest schema. Raise UnusableDatabaseError.

        setup: SERVER for a server, or COMMAND for a command that may run at the same time as any servers.
        for_copy: whether a copy of a file may be incomplete, as only `app.storage.postgres.copying` allows. No server
            uses the database at the same time.
        """
        thread = ThreadPoolExecutor(1, thread_name_prefix="database")
        try:
            writer, pools = await asyncio.get_running_loop().run_in_executor(thread, _connect, url, setup, for_copy)
        except BaseException as error:
            thread.shutdown()
            if isinstance(error, psycopg.Error):
                raise UnusableDatabaseError(refusal(url, error)) from error
            raise
        return cls(url, writer, thread, pools)

    async def close(self) -> None:
        """Close the connections once the writes in progress have ended. Calling this again has no effect."""
        if self._closed:
            return
        self._closed = True
        if self._listener is not None:
            await self._listener.stop()
        await self._pools.close()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._writer.close)
        self._thread.shutdown()

    async def listen(self, on_notice: Callable[[str, str], None]) -> None:
        """Call `on_notice` with the topic and the text of each notice from now on."""
        assert self._listener is None
        self._listener = Listener(self._url, on_notice)
        with translated_errors():
            await self._listener.begin()

    async def probe(self) -> None:
        """Write a row of the schema's table without a change of its content."""
        await self.write(lambda connection: connection.execute("UPDATE ebb_schema SET version = version"))

    async def erase_history(self) -> bool:
        """Leave earlier versions of rows to PostgreSQL, whose vacuum removes them."""
        return True

    async def apart(self, work: Callable[[PostgresConnection], T]) -> T:
        """Run `work` in the writer's thread outside of a transaction, for statements that may take long.

        Raise OutageError, DatabaseError.
        """
        running = asyncio.get_running_loop().run_in_executor(self._thread, self._apart, work)
        return await asyncio.shield(running)

    def _apart(self, work: Callable[[PostgresConnection], T]) -> T:
        with translated_errors():
            return work(self._writer)

    def _transaction(self, work: Callable[[DatabaseConnection], T], durable: bool) -> T:
        self._number += 1
        with self.health.write(), translated_errors():
            with self._writer.limited(TRANSACTION_SECONDS):
                result = self._prepared(work, durable)
                is_confirmed = self._commit()
            if not is_confirmed and not self._is_stored():
                raise StorageUnavailableError(NOT_STORED)
            return result

    def _prepared(self, work: Callable[[DatabaseConnection], T], durable: bool) -> T:
        """Run `work` in a transaction that is not committed yet."""
        try:
            self._begin(BEGIN if durable else BEGIN_NOT_DURABLE)
            result = work(self._writer)
            index_written(self._writer)
        except ReadOnlySqlTransaction:
            # The server may have become a standby. The next transaction looks for the one in its place.
            self._writer.close()
            raise
        except BaseException:
            self._writer.roll_back()
            raise
        return result

    def _begin(self, begin: str = BEGIN) -> None:
        """Begin a transaction once those of all servers have ended, and settle the doubt about an earlier one."""
        # After LOCK_SECONDS it fails within the new transaction.
        self._writer.execute(begin)
        if self._doubt is not None:
            settle(self._writer, self.server, self._doubt)
            self._doubt = None

    def _commit(self) -> bool:
        """Commit the transaction. Returns False if the connection is lost before the answer."""
        raw = self._writer.raw
        try:
            raw.execute(sql.SQL("{}; COMMIT").format(note_number(self.server, self._number)))
        except psycopg.OperationalError:
            if raw.closed:
                return False
            self._writer.roll_back()
            raise
        except BaseException:
            self._writer.roll_back()
            raise
        return True

    def _is_stored(self) -> bool:
        """Return whether the last transaction is stored, whose COMMIT had no answer. Raise CommitUnknownError."""
        self._doubt = doubt = Doubt(self._number)
        try:
            with self._writer.limited(LOOK_SECONDS):
                self._begin()
        except psycopg.Error as error:
            raise CommitUnknownError(doubt.is_stored) from error
        finally:
            self._writer.roll_back()
        return doubt.is_stored.result()


def _connect(url: str, setup: Sequence[str], for_copy: bool) -> tuple[PostgresConnection, ReaderPools]:
    reach = Reach()
    _check(url, reach)
    # Two servers that start at the same time must not hold their common lock when one changes the schema.
    with closing(PostgresConnection(url, COMMAND, reach)) as alone:
        _migrate(alone)
        forget_old(alone)
    writer = PostgresConnection(url, ALONE if for_copy else setup, reach)
    try:
        if not for_copy:
            _refuse_incomplete_copy(writer)
            writer.look_at(OUR_WHOLE_SCHEMA)
        return writer, ReaderPools(
            PostgresReaders.open(url, READERS, reach, most_of_one=READERS // 2),
            PostgresReaders.open(url, SEARCHERS, reach, most_of_one=1, settings=SEARCHING),
            PostgresReaders.open(url, 1, reach, most_of_one=1),
        )
    except BaseException:
        writer.close()
        raise


def check_database(url: str) -> bool:
    """Return whether a server that starts will upgrade a database, without a change in it.

    Raise UnusableDatabaseError: no server can use the database.
    """
    reach = Reach()
    try:
        _check(url, reach)
        with closing(PostgresConnection(url, COMMAND, reach)) as connection:
            if not connection.fetch_all("SELECT 1 FROM pg_class WHERE oid = to_regclass('ebb_schema')"):
                return False
            version = _version(connection)
            _refuse_later_schema(version)
            _refuse_incomplete_copy(connection)
            return version < VERSION
    except psycopg.Error as error:
        raise UnusableDatabaseError(refusal(url, error)) from error


def _check(url: str, reach: Reach) -> None:
    if (missing := missing_requirement(url, reach)) is not None:
        raise UnusableDatabaseError(_sentence(url, missing))


def _migrate(writer: PostgresConnection) -> None:
    """Bring the database to the newest schema, all in one transaction. Raise UnusableDatabaseError."""
    raw = writer.raw
    scripts = [path.read_bytes() for path in sorted(SCHEMA.glob("*.sql"))]
    with raw.transaction():
        # Servers that start at the same time migrate one after the other. Without this lock, one of them could still
        # wait for the lock of the schema when another has found it complete, and holds that lock as a running server.
        raw.execute(f"SET LOCAL lock_timeout = '{STARTING_SECONDS}s'".encode())
        raw.execute(f"SELECT pg_advisory_xact_lock({STARTING_LOCK})".encode())
        raw.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'".encode())
        raw.execute("CREATE TABLE IF NOT EXISTS ebb_schema(version INTEGER NOT NULL)")
        version = _version(writer)
        _refuse_later_schema(version)
        if version == VERSION:
            return
        # A server of another version would not know the new schema.
        raw.execute(f"SELECT pg_advisory_xact_lock({LOCK})".encode())
        for script in scripts[version:]:
            raw.execute(script)
        raw.execute("DELETE FROM ebb_schema")
        writer.execute("INSERT INTO ebb_schema(version) VALUES (?)", (VERSION,))


def _refuse_later_schema(version: int) -> None:
    if version > VERSION:
        raise UnusableDatabaseError(
            f"The database was written by a later version of Ebb (schema {version}, this one knows {VERSION}): start "
            "that version, or choose another --database-url"
        )


def _refuse_incomplete_copy(connection: PostgresConnection) -> None:
    if connection.fetch_all(f"SELECT 1 FROM pg_class WHERE oid = to_regclass('{COPY_TABLE}')"):
        raise UnusableDatabaseError(
            "The database holds an incomplete copy of a file: continue it with ebb migrate, or remove the database"
        )


def _version(writer: PostgresConnection) -> int:
    row = writer.fetch_one("SELECT max(version) AS version FROM ebb_schema")
    return (row["version"] if row is not None else None) or 0


def refusal(url: str, error: psycopg.Error) -> str:
    """Return the sentence for a database that cannot be used. The password stays out of it."""
    reason = str(error).strip().partition("\n")[0]
    if isinstance(error, LockNotAvailable):
        reason = "servers of another version, or a copy of a file, use it. Stop them first, or choose another database"
    return _sentence(url, reason)


def _sentence(url: str, reason: str) -> str:
    return f"The database at {place_of(url)} (--database-url) cannot be used: {reason}"
