"""Insertion of many rows by few statements, which cost less, and whose triggers in PostgreSQL run once for all rows."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from app.storage.connection import Connection

ROWS: Final = 50
"""Most rows of a statement."""
CHARACTERS: Final = 65_536
"""Characters and bytes at which a statement ends, also because PostgreSQL ends a transaction that sends nothing for a
while, and `rows` may take long to compute."""


def insert_rows(connection: Connection, into: str, rows: Iterable[Sequence[Any]], then: str = "") -> None:
    """Insert rows inside the transaction of the caller. A row may refer to an earlier one.

    into: the table and its columns.
    rows: the values of each row. Consumed between the statements.
    then: the end of each statement, such as ON CONFLICT.
    """
    batch, size = list[Sequence[Any]](), 0
    for row in rows:
        batch.append(row)
        size += sum(len(value) for value in row if isinstance(value, (str, bytes)))
        if len(batch) == ROWS or size >= CHARACTERS:
            _insert(connection, into, batch, then)
            batch, size = [], 0
    if batch:
        _insert(connection, into, batch, then)


def _insert(connection: Connection, into: str, rows: Sequence[Sequence[Any]], then: str) -> None:
    places = f"({', '.join('?' * len(rows[0]))})"
    connection.execute(
        f"INSERT INTO {into} VALUES {', '.join([places] * len(rows))} {then}", [value for row in rows for value in row]
    )
