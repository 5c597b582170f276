"""A connection of psycopg as the storage modules use it. Reconnects where the server closed it."""

import json
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from math import inf
from time import monotonic
from typing import Any, Final

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus

from app.storage.connection import Parameters, Row
from app.storage.dialect import Dialect
from app.storage.postgres.limits import NO_OTHER_LIMITS, LimitedConnection, Reach
from app.storage.postgres.listener import CHANNEL


def _json_count(column: str, names: tuple[str, ...]) -> str:
    # JSON of PostgreSQL has no NUL.
    whole = f"CAST(replace({column}, '\\u0000', '\\ufffd') AS json)"
    value = " -> ".join([whole, *(f"'{name}'" for name in names)])
    return f"CAST(coalesce(substring(CAST({value} AS text) FROM '^[0-9]{{1,13}}$'), '0') AS bigint)"


POSTGRES: Final = Dialect(
    same="IS NOT DISTINCT FROM",
    greatest="greatest",
    least="least",
    now="CAST(extract(epoch FROM clock_timestamp()) AS double precision)",
    json_strings=lambda array: f"SELECT jsonb_array_elements_text(CAST({array} AS jsonb))",
    json_items="jsonb_array_elements(CAST(? AS jsonb)) AS item(value)",
    json_text=lambda index: f"(value ->> {index})",
    json_integer=lambda index: f"CAST(value ->> {index} AS integer)",
    json_count=_json_count,
    whole=lambda number: f"CAST(floor({number}) AS bigint)",
    beginning="left",
    characters="length",
    # In a plain join, PostgreSQL may read the whole table if the statistics are missing or mislead.
    looked_up=lambda table, condition: (
        f"CROSS JOIN LATERAL (SELECT * FROM {table} WHERE {condition} OFFSET 0) AS {table}"
    ),
)

ASK_SECONDS: Final = 2
"""Time for the answer of a connection that was silent since another one gave no answer."""

SETUP_SECONDS: Final = 10
"""More than a lock of a setup may take."""

OWN_SETTINGS: Final = (
    "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED",
    NO_OTHER_LIMITS,
)
"""In the stricter levels a transaction's view is older than the lock that it waits for. A database or a role may have
any of them as its default."""

_PLACE = re.compile(r"'[^']*'|\?|(?<!:):([a-z_]+)")


class PostgresRow:
    """Implementation of `app.storage.connection.Row`."""

    __slots__ = ("_places", "_values")

    def __init__(self, places: Mapping[str, int], values: Sequence[Any]) -> None:
        self._places = places
        self._values = values

    def __getitem__(self, column: str | int, /) -> Any:
        """Return the value of a column, by its name or its place."""
        return self._values[column if isinstance(column, int) else self._places[column]]

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the values."""
        return iter(self._values)

    def keys(self) -> Iterable[str]:
        """Return the names of the columns."""
        return self._places.keys()


class PostgresConnection:
    """Implementation of `app.storage.connection.Connection`. Used by one thread at a time."""

    dialect = POSTGRES

    def __init__(self, url: str, setup: Sequence[str], reach: Reach) -> None:
        """Connect to a database. Raise psycopg.Error.

        setup: statements to execute after each connection.
        reach: shared by the connections to the database.
        """
        self._url = url
        self._setup = setup
        self._reach = reach
        self._deadline = inf
        self._is_given_up = False
        self._heard_at = -inf
        self._raw = self._connect()

    @property
    def raw(self) -> LimitedConnection:
        """The connection itself, connected again if it was lost."""
        if self._heard_at < self._reach.suspected_at and self._raw.info.transaction_status == TransactionStatus.IDLE:
            self._ask()
        if self._raw.closed:
            self._raw = self._connect()
        return self._raw

    def close(self) -> None:
        """Close the connection."""
        self._raw.close()

    def give_up(self) -> None:
        """Make another thread stop its work on the connection, and close it. Returns at once."""
        self._is_given_up = True

    def renew(self) -> None:
        """Allow work again after `give_up`. No thread may use the connection at that time."""
        self._is_given_up = False

    def look_at(self, statement: str) -> None:
        """Execute `statement` too after each further connection."""
        self._setup = (*self._setup, statement)

    @contextmanager
    def limited(self, seconds: float) -> Iterator[None]:
        """End the statements inside, and close the connection, once `seconds` have passed."""
        self._deadline = monotonic() + seconds
        try:
            yield
        finally:
            self._deadline = inf

    def roll_back(self) -> None:
        """End the transaction in progress without its changes, if there is one."""
        # A connection that was lost has rolled back.
        if not self._raw.closed:
            with suppress(psycopg.Error):
                self._raw.execute("ROLLBACK")

    def execute(self, statement: str, parameters: Parameters = (), /) -> int:
        """Execute a statement, and return the number of rows that it changed."""
        return self._executed(statement, parameters).rowcount

    def execute_many(self, statement: str, rows: Iterable[Parameters], /) -> None:
        """Execute a statement once for each of `rows`."""
        query, names = _translated(statement)
        # Without a row, the driver would still wait for an answer.
        if sendable := [_sendable(row, names) for row in rows]:
            self.raw.cursor().executemany(query, sendable)

    def fetch_all(self, statement: str, parameters: Parameters = (), /) -> list[Row]:
        """Return all rows of a statement."""
        return self._executed(statement, parameters).fetchall()

    def fetch_one(self, statement: str, parameters: Parameters = (), /) -> Row | None:
        """Return the first row of a statement; None if there is none."""
        return self._executed(statement, parameters).fetchone()

    def notify(self, topic: str, text: str) -> None:
        """Send a notice to all servers of the database, once the transaction is committed."""
        self.execute(f"SELECT pg_notify({CHANNEL}, ?)", (json.dumps([topic, text]),))

    def iterate(self, statement: str, parameters: Parameters = (), /) -> Iterator[Row]:
        """Yield the rows of a statement one at a time."""
        return iter(self._executed(statement, parameters))

    def stream(self, statement: str) -> Generator[Row, None, None]:
        """Yield the rows of a SELECT one at a time, as the server sends them. Only one of them is in memory.

        No other statement can run on the connection before the generator has ended or is closed.
        """
        yield from self.raw.cursor().stream(_as_query(statement))

    def _executed(self, statement: str, parameters: Parameters) -> psycopg.Cursor[Row]:
        query, names = _translated(statement)
        raw, given = self.raw, _sendable(parameters, names) or None
        begins = raw.info.transaction_status == TransactionStatus.IDLE
        try:
            executed = raw.execute(query, given)
            self._heard_at = monotonic()
            return executed
        except psycopg.OperationalError:
            # The server ended the connection while it was idle. Outside of a transaction nothing is lost with it.
            if not (begins and raw.closed) or self._is_over():
                raise
            return self.raw.execute(query, given)

    def _ask(self) -> None:
        """Close the connection unless PostgreSQL answers on it."""
        raw, end = self._raw, monotonic() + ASK_SECONDS
        raw.is_over = lambda: self._is_given_up or monotonic() >= min(end, self._deadline)
        with suppress(psycopg.Error):
            raw.execute("SELECT 1")
            self._heard_at = monotonic()
        raw.is_over = self._is_over

    def _is_over(self) -> bool:
        """Return whether to give up waiting. The other connections are suspected then."""
        is_over = self._is_given_up or monotonic() >= self._deadline
        if is_over:
            self._reach.suspected_at = monotonic()
        return is_over

    def _connect(self) -> LimitedConnection:
        raw = self._reach.connect(self._url)
        raw.row_factory = _rows
        # Other cursors of psycopg parse a statement with many parameters each time.
        raw.cursor_factory = psycopg.RawCursor
        end = monotonic() + SETUP_SECONDS
        raw.is_over = lambda: self._is_over() or monotonic() >= end
        try:
            for statement in (*OWN_SETTINGS, *self._setup):
                raw.execute(_as_query(statement))
        except BaseException:
            raw.close()
            raise
        raw.is_over = self._is_over
        self._heard_at = monotonic()
        return raw


def _rows(cursor: psycopg.Cursor[Any]) -> Any:
    places = {column.name: place for place, column in enumerate(cursor.description or ())}
    return lambda values: PostgresRow(places, values)


@lru_cache(maxsize=1024)
def _translated(statement: str) -> tuple[sql.SQL, tuple[str, ...]]:
    """Return a statement with `$1`, `$2` ... for `?` and `:name`, not within strings, and the names in their order."""
    places = dict[str, int]()

    def mark(found: re.Match[str]) -> str:
        if found[0] != "?" and found[1] is None:
            return found[0]
        name = found[1] or f"?{len(places)}"
        return f"${places.setdefault(name, len(places) + 1)}"

    return _as_query(_PLACE.sub(mark, statement)), tuple(places)


def _as_query(statement: str) -> sql.SQL:
    # The storage modules build their statements from their own constants.
    return sql.SQL(statement)


def _sendable(parameters: Parameters, names: Sequence[str]) -> list[Any]:
    """Return the parameters without NUL characters, which no text of PostgreSQL can contain.

    names: those of a mapping, in the order in which the statement takes them.
    """
    values = [parameters[name] for name in names] if isinstance(parameters, Mapping) else parameters
    return [without_nul(value) for value in values]


def without_nul(value: Any) -> Any:
    """Return a value as PostgreSQL can store it: with U+FFFD in place of NUL characters."""
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) and "\0" in value else value
