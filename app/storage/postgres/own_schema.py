"""The version of the schema that this version of Ebb knows, and the check of each new connection of a server.

A server that lost its connections has lost the lock that keeps newer servers from changing the schema.
"""

from pathlib import Path
from typing import Final

SCHEMA: Final = Path(__file__).with_name("schema")
"""File n (counted from 1, in the order of their names) brings a database of schema n - 1 to n."""

VERSION: Final = len(list(SCHEMA.glob("*.sql")))

COPY_TABLE: Final = "ebb_copy"
"""Table that exists while a file is being copied into the database."""

CHANGED: Final = "EBB01"
"""SQLSTATE of the error that OUR_SCHEMA raises."""

_RAISE: Final = f"RAISE EXCEPTION USING ERRCODE = '{CHANGED}', MESSAGE = 'the schema is not that of this version'"
_OTHER_VERSION: Final = (
    f"IF num_nulls(to_regclass('ebb_schema')) = 1 THEN {_RAISE}; END IF; "
    f"IF coalesce((SELECT max(version) FROM ebb_schema), 0) <> {VERSION} THEN {_RAISE}; END IF;"
)

OUR_SCHEMA: Final = f"DO $$ BEGIN {_OTHER_VERSION} END $$"
"""Fails where another version of Ebb has changed the schema."""

OUR_WHOLE_SCHEMA: Final = (
    f"DO $$ BEGIN {_OTHER_VERSION} IF num_nonnulls(to_regclass('{COPY_TABLE}')) = 1 THEN {_RAISE}; END IF; END $$"
)
"""Fails there, and where a copy of a file is incomplete."""
