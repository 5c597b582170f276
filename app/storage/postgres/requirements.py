"""Requirements on a PostgreSQL, checked before anything is changed in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

from app.storage.postgres.limits import LimitedConnection, Reach

OLDEST: Final = 14
"""Version that has `client_connection_check_interval`."""

LOOKS: Final = 3
"""Times that two connections are compared: other clients of a pooler may take the sessions in between."""

CHECK_SECONDS: Final = 10


def missing_requirement(url: str, reach: Reach) -> str | None:
    """Return what a database lacks, as the end of a sentence; None if a server can use it. Raise psycopg.Error."""
    with _connected(url, reach) as connection:
        info = connection.info
        if info.server_version < OLDEST * 10_000:
            return f"PostgreSQL {OLDEST} or later is needed, and this is {info.parameter_status('server_version')}"
        encoding = info.parameter_status("server_encoding")
        if encoding != "UTF8":
            return f"its encoding is {encoding}. Make one with createdb --encoding=UTF8 --template=template0"
        # PostgreSQL tells a client the number of its session at the login. A pooler sends another one.
        if info.backend_pid != _session_of(connection) and _sessions_change(connection, url, reach):
            return (
                "a pooler gives each transaction another session, but locks and notices belong to sessions. Set "
                "pool_mode=session in it, or connect to PostgreSQL itself"
            )
    return None


@contextmanager
def _connected(url: str, reach: Reach) -> Iterator[LimitedConnection]:
    connection, end = reach.connect(url), monotonic() + CHECK_SECONDS
    connection.is_over = lambda: monotonic() >= end
    try:
        yield connection
    finally:
        connection.close()


def _sessions_change(connection: LimitedConnection, url: str, reach: Reach) -> bool:
    """Return whether the transactions of a connection run in sessions of others, or in several."""
    with _connected(url, reach) as other:
        session = _session_of(connection)
        for _ in range(LOOKS):
            with other.transaction():
                if _session_of(other) == session or _session_of(connection) != session:
                    return True
    return False


def _session_of(connection: LimitedConnection) -> int:
    row = connection.execute("SELECT pg_backend_pid()").fetchone()
    assert row is not None
    return int(row[0])
