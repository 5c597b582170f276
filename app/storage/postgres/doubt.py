"""Transactions whose COMMIT had no answer, and the row by which a server learns whether they are stored.

Each transaction of a server writes its number into the server's row of `last_write`. After a COMMIT without an answer,
a new connection finds the number there, or an earlier one. The number of a transaction of PostgreSQL itself would not
do: a crash, or a standby that lacks the last writes, may give the same one to a transaction of another server.
"""

from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final

from psycopg import sql

from app.storage.connection import DatabaseConnection

NOTE: Final = (
    "INSERT INTO last_write(server, number) VALUES ({}, {}) "
    "ON CONFLICT(server) DO UPDATE SET number = excluded.number, noted_at = now()"
)
KEPT_DAYS: Final = 1
"""Time after which the row of a server that writes nothing is dropped."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Transaction `number`, of which a server does not know whether it is stored.

    is_stored: set by a later transaction of the server.
    """

    number: int
    is_stored: "Future[bool]" = field(default_factory=Future)


def note_number(server: str, number: int) -> sql.Composed:
    """Return the statement that notes the number of a transaction."""
    return sql.SQL(NOTE).format(sql.Literal(server), sql.Literal(number))


def settle(connection: DatabaseConnection, server: str, doubt: Doubt) -> None:
    """Set the outcome of a doubt, within a transaction that began after the one in doubt has ended."""
    row = connection.fetch_one("SELECT number FROM last_write WHERE server = ?", (server,))
    doubt.is_stored.set_result(row is not None and row["number"] == doubt.number)


def forget_old(connection: DatabaseConnection) -> None:
    """Drop the rows of servers that have ended."""
    connection.execute(f"DELETE FROM last_write WHERE noted_at < now() - interval '{KEPT_DAYS} days'")
