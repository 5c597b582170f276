"""Spellings in which databases differ.

All other SQL of the storage modules means the same to SQLite and to PostgreSQL.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """The spellings of one database.

    same: operator that compares two values, for which NULL equals NULL.
    greatest: function that returns the greatest of its arguments.
    least: function that returns the least of its arguments.
    json_items: table with one row for each item of a JSON array, a parameter. The column `value` holds the item.
    json_part: element `index` of the column `value` that holds an array, as text unless it is cast.
    """

    same: str
    greatest: str
    least: str
    json_items: str
    json_part: str
