"""Read-only connections to PostgreSQL."""

from contextlib import suppress
from typing import Final

import psycopg
from psycopg.errors import QueryCanceled

from app.storage.postgres.connection import PostgresConnection
from app.storage.postgres.errors import defect_of, outage_of
from app.storage.readers import Readers

READ_ONLY: Final = ("SET default_transaction_read_only = on",)


class PostgresReaders(Readers[PostgresConnection]):
    """Owner of read connections to a database."""

    @classmethod
    def open(cls, url: str, count: int, *, most_of_one: int) -> "PostgresReaders":
        """Open `count` connections, of which one tenant may lease at most `most_of_one` at a time."""
        connections = list[PostgresConnection]()
        try:
            for _ in range(count):
                connections.append(PostgresConnection(url, READ_ONLY))
        except BaseException:
            for connection in connections:
                connection.close()
            raise
        return cls(connections, most_of_one)

    def interrupt(self, connection: PostgresConnection) -> None:
        """End the statement that runs on a connection."""
        with suppress(psycopg.Error):
            connection.cancel()

    def close_one(self, connection: PostgresConnection) -> None:
        """Close a connection."""
        connection.close()

    def error_of(self, error: Exception, *, is_late: bool) -> Exception | None:
        """Return the error to raise for one of PostgreSQL."""
        if not isinstance(error, psycopg.Error):
            return error
        if isinstance(error, QueryCanceled) and is_late:
            return None
        return outage_of(error) or defect_of(error)
