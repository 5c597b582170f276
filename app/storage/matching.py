"""Pages of the lists that administrators search, with or without a text that a row must contain."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from app.storage.connection import DatabaseConnection, Row

ListPlace = tuple[float, str]
"""Place in a list of keys or people: created_at, id."""
BEFORE_ALL: ListPlace = (0.0, "")


def matching(
    connection: DatabaseConnection,
    sql: str,
    parameters: Mapping[str, Any],
    columns: Sequence[str],
    query: str,
    limit: int,
) -> list[Row]:
    """Return the first `limit` rows of a SELECT, with a query those that contain it.

    columns: the columns to search. query: a text whose case is ignored; "" accepts every row.
    """
    if not query:
        return connection.fetch_all(f"{sql} LIMIT :limit", {**parameters, "limit": limit})
    folded = query.casefold()
    # The databases fold only some letters, and not the same ones.
    found = (row for row in connection.iterate(sql, parameters) if any(folded in row[c].casefold() for c in columns))
    return list(islice(found, limit))
