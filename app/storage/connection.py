"""The interface between the storage modules and a database: a connection within one transaction or one read.

SQL stays SQL. `?` takes the next value of a sequence of parameters, and `:name` a value of a mapping. A statement that
fails ends its transaction, and leaves `Database` as an error of `app.storage.errors` or as an OutageError.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from app.storage.dialect import Dialect

NOTICE_CHARACTERS: Final = 7000
MISSED: Final = "missed"
"""Topic of a notice that the database gives itself: others may have been missed."""

Parameters = Sequence[Any] | Mapping[str, Any]


class Row(Protocol):
    """A row of a result: values by column name, and in the order of the columns."""

    def __getitem__(self, column: str, /) -> Any:
        """Return the value of a column."""

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the values."""

    def keys(self) -> Iterable[str]:
        """Return the names of the columns."""


class DatabaseConnection(Protocol):
    """A connection to the database. Belongs to the thread that runs the transaction or the read."""

    @property
    def dialect(self) -> Dialect:
        """Spellings of this database."""

    def execute(self, sql: str, parameters: Parameters = (), /) -> int:
        """Execute an INSERT, UPDATE or DELETE, and return the number of rows that it changed.

        The number is not defined for other statements, among them those that begin with WITH.
        """

    def execute_many(self, sql: str, rows: Iterable[Parameters], /) -> None:
        """Execute an INSERT, UPDATE or DELETE once for each of `rows`, its parameters."""

    def fetch_all(self, sql: str, parameters: Parameters = (), /) -> list[Row]:
        """Return all rows of a SELECT, or of a statement with RETURNING."""

    def fetch_one(self, sql: str, parameters: Parameters = (), /) -> Row | None:
        """Return the first row of a SELECT; None if there is none."""

    def notify(self, topic: str, text: str) -> None:
        """Send a notice to all servers of the database, this one included, once the transaction is committed.

        text: at most NOTICE_CHARACTERS. A database with one server sends no notices.
        """

    def iterate(self, sql: str, parameters: Parameters = (), /) -> Iterator[Row]:
        """Yield the rows of a SELECT one at a time, while the database finds them."""
