"""Read-only connections to PostgreSQL."""

from collections.abc import Sequence
from typing import Final

import psycopg
from psycopg.errors import QueryCanceled

from app.storage.postgres.connection import PostgresConnection
from app.storage.postgres.errors import defect_of, outage_of
from app.storage.postgres.limits import ENDED_WITH_CLIENT, Reach
from app.storage.postgres.own_schema import OUR_SCHEMA
from app.storage.readers import Readers

READ_ONLY: Final = (
    "SET default_transaction_read_only = on",
    "SET statement_timeout = '25s'",
    *ENDED_WITH_CLIENT,
    OUR_SCHEMA,
)
"""The time limit of PostgreSQL is above those of all reads, which end their statements themselves."""


class PostgresReaders(Readers[PostgresConnection]):
    """Owner of read connections to a database."""

    @classmethod
    def open(
        cls, url: str, count: int, reach: Reach, *, most_of_one: int, settings: Sequence[str] = ()
    ) -> "PostgresReaders":
        """Open `count` connections, of which one tenant may lease at most `most_of_one` at a time.

        settings: statements to execute after each connection.
        """
        connections = list[PostgresConnection]()
        try:
            for _ in range(count):
                connections.append(PostgresConnection(url, (*READ_ONLY, *settings), reach))
        except BaseException:
            for connection in connections:
                connection.close()
            raise
        return cls(connections, most_of_one)

    def interrupt(self, connection: PostgresConnection) -> None:
        """Make the thread of a read stop within LOOK_SECONDS. The next read on the connection connects again."""
        connection.give_up()

    def prepare(self, connection: PostgresConnection) -> None:
        """Allow a new read on a connection."""
        connection.renew()

    def close_one(self, connection: PostgresConnection) -> None:
        """Close a connection."""
        connection.close()

    def error_of(self, error: Exception, *, is_late: bool) -> Exception | None:
        """Return the error to raise for one of PostgreSQL."""
        if not isinstance(error, psycopg.Error):
            return error
        if is_late and isinstance(error, QueryCanceled | psycopg.OperationalError):
            return None
        return outage_of(error) or defect_of(error)
