"""Spellings in which databases differ.

All other SQL of the storage modules means the same to SQLite and to PostgreSQL.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The spellings of one database.

    same: operator that compares two values, for which NULL equals NULL.
    greatest: function that returns the greatest of its arguments.
    least: function that returns the least of its arguments.
    now: expression for the database's time, in Unix seconds.
    json_strings: query for the strings of a JSON array, given as a column, or as `?` for the next parameter.
    json_items: table of the items of a JSON array, the next parameter, in the column `value`.
    json_text: returns the expression for an element of the array `value`, as text.
    json_integer: returns the expression for an element of the array `value` that is an integer.
    json_count: returns the expression for a number below 10**13 in a JSON object, given as a column and the names
        on the way; 0 if there is no whole one there that is not negative.
    whole: returns the expression for the largest integer that is at most a positive number.
    beginning: function that returns a text's first characters, of the text and their number.
    characters: function that counts the characters of a text.
    looked_up: returns the join of the rows before it with the rows of a table or a view that meet a condition. Each
        is looked up by the index of the condition, whatever statistics the database has.
    """

    same: str
    greatest: str
    least: str
    now: str
    json_strings: Callable[[str], str]
    json_items: str
    json_text: Callable[[int], str]
    json_integer: Callable[[int], str]
    json_count: Callable[[str, tuple[str, ...]], str]
    whole: Callable[[str], str]
    beginning: str
    characters: str
    looked_up: Callable[[str, str], str]
