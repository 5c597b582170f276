"""A copy of an SQLite file in PostgreSQL: in batches, resumable, and verified row by row.

The table `ebb_copy` holds the number of copied rows of each table. Each batch raises it in its own transaction, so a
copy that was interrupted continues where it stopped. No server starts on a database with this table.

Triggers of PostgreSQL fill the search index, with the numbers of the file, and count what each tenant stores.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

from app.storage.connection import DatabaseConnection
from app.storage.errors import UnusableDatabaseError
from app.storage.postgres.connection import PostgresConnection, without_nul
from app.storage.postgres.database import PostgresDatabase
from app.storage.postgres.own_schema import COPY_TABLE
from app.storage.postgres.text_index import FOUND_INDEX
from app.storage.sqlite.file_rows import FileRows

BATCH_ROWS: Final = 500
BATCH_BYTES: Final = 4 << 20
"""Size of the texts of a batch, which always holds at least one row."""

TABLES: Final = {
    "searchable": "number",
    "folder": "id",
    "conversation": "id",
    "message": "id",
    "response_text": "number",
    "response": "message_id",
    "next_prefix": "message_id",
    "other_tokens": "message_id, starts_prompt, token_ids, prompt_key",
    "answer_prompt": "message_id",
    "due_title": "message_id",
    "path_end": "message_id",
    "run": "number",
    "run_event": "run, first_token",
    "draft": "tenant, coalesce(conversation_id, '')",
    "removal": "conversation_id, coalesce(message_id, '')",
    "staged": "conversation_id",
    "share": "id",
    "api_key": "id",
    "login": "digest",
    "tenant_limits": "tenant",
    "owed_use": "tenant",
    "owed_erasure": "number",
    "daily_use": "tenant, day",
    "answer": "name",
    "person": "id",
    "person_session": "id",
    "password": "person_id",
    "second_factor": "person_id",
    "saml_answer": "id",
    "scim_user": "id",
    "scim_group": "id",
    "scim_member": "group_id, user_id",
    "preset": "id",
    "saved_prompt": "id",
    "kept_file": "id",
    "preference": "tenant, name",
    "served_tick": "served",
    "served_hour": "hour",
    "server_clock": "newest",
}
"""Tables in an order in which each one follows those that it refers to, with the columns that identify a row."""

NUMBERED: Final = {"searchable", "response_text", "run", "owed_erasure"}
"""Tables whose new rows get the next number."""

IN_ORDER_OF_ADDITION: Final = frozenset({"message"})
"""Tables whose rows refer to earlier rows."""

NUL_IN_JSON: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")

MADE_BY_TRIGGERS: Final = {"conversation": {"counted"}}
"""Columns that the triggers of the target set."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the copy of a table is."""

    table: str
    copied: int
    rows: int


class FileCopy:
    """The copy of one file into one database, which no server uses."""

    def __init__(self, file: Path, target: PostgresDatabase) -> None:
        self._file = file
        self._target = target

    async def run(self, tell: Callable[[Progress], None]) -> None:
        """Copy all rows that are not copied yet, and compare both databases.

        tell: called after each batch.

        Raise UnusableDatabaseError: the target holds other rows, the file has changed since the copy began, or a row
        differs, or the file cannot be read.
        """
        with closing(FileRows(self._file)) as source:
            await self._begin(source)
            for table in TABLES:
                await self._copy(source, table, tell)
            for table, key in TABLES.items():
                await self._compare(source, table, key)
        await self._target.apart(lambda connection: connection.execute(FOUND_INDEX))
        await self._target.write(_end)

    async def _begin(self, source: FileRows) -> None:
        """Prepare the target, or find out that this copy continues an earlier one of the same file."""
        state = _state_of(source)

        def begin(connection: DatabaseConnection) -> None:
            if connection.fetch_all(f"SELECT 1 FROM pg_class WHERE oid = to_regclass('{COPY_TABLE}')"):
                [[known]] = connection.fetch_all(f"SELECT state FROM {COPY_TABLE} WHERE name = ''")
                if known != state:
                    raise UnusableDatabaseError(
                        f"{self._file} has changed since its copy began. Remove the copy (dropdb, createdb), then "
                        "begin again"
                    )
                return
            for table in TABLES:
                if table != "server_clock" and connection.fetch_all(f"SELECT 1 FROM {table} LIMIT 1"):
                    raise UnusableDatabaseError(
                        f"The database holds rows already ({table}): copy into an empty one, made by createdb"
                    )
            connection.execute("DELETE FROM server_clock")
            # Made at the end: that takes a seventh of the time in which the index grows by each message.
            connection.execute("DROP INDEX search_words_found")
            connection.execute(f"CREATE TABLE {COPY_TABLE}(name TEXT PRIMARY KEY, copied BIGINT NOT NULL, state TEXT)")
            connection.execute(f"INSERT INTO {COPY_TABLE}(name, copied, state) VALUES ('', 0, ?)", (state,))

        await self._target.write(begin)

    async def _copy(self, source: FileRows, table: str, tell: Callable[[Progress], None]) -> None:
        columns = await self._columns(table)
        copied = await self._copied(table)
        rows = source.count(table)
        names, marks = ", ".join(columns), ", ".join("?" * len(columns))
        found = source.rows(table, columns, None if table in IN_ORDER_OF_ADDITION else TABLES[table])
        for batch in _batches(islice(found, copied, None)):
            values = [_converted(row, columns) for row in batch]
            copied += len(batch)
            await self._target.write(_writing(table, f"INSERT INTO {table}({names}) VALUES ({marks})", values, copied))
            tell(Progress(table, copied, rows))

    async def _compare(self, source: FileRows, table: str, key: str) -> None:
        """Raise UnusableDatabaseError if a row of the target differs."""
        columns = await self._columns(table)
        expected = _digest(_converted(row, columns) for row in source.rows(table, columns, key))
        sql = f"SELECT {', '.join(columns)} FROM {table} ORDER BY {key}"
        copied = await self._target.apart(partial(_digest_of, sql=sql))
        if copied != expected:
            raise UnusableDatabaseError(f"The copy of {table} differs from {self._file}: remove it, and begin again")

    async def _columns(self, table: str) -> dict[str, str]:
        """Return the columns to copy, each with its type."""
        rows = await self._target.read(
            "SELECT column_name AS name, data_type AS type FROM information_schema.columns "
            "WHERE table_schema = current_schema() AND table_name = ? ORDER BY ordinal_position",
            (table,),
        )
        left_out = MADE_BY_TRIGGERS.get(table, set())
        return {row["name"]: row["type"] for row in rows if row["name"] not in left_out}

    async def _copied(self, table: str) -> int:
        rows = await self._target.read(f"SELECT copied FROM {COPY_TABLE} WHERE name = ?", (table,))
        return int(rows[0]["copied"]) if rows else 0


def _writing(table: str, sql: str, values: list[list[Any]], copied: int) -> Callable[[DatabaseConnection], None]:
    def write(connection: DatabaseConnection) -> None:
        connection.execute_many(sql, values)
        connection.execute(
            f"INSERT INTO {COPY_TABLE}(name, copied) VALUES (?, ?) "
            f"ON CONFLICT(name) DO UPDATE SET copied = excluded.copied",
            (table, copied),
        )

    return write


def _end(connection: DatabaseConnection) -> None:
    for table in NUMBERED:
        newest = f"greatest(1, (SELECT max(number) FROM {table}))"
        connection.fetch_all(f"SELECT setval(pg_get_serial_sequence('{table}', 'number'), {newest})")
    connection.execute(f"DROP TABLE {COPY_TABLE}")


def _state_of(source: FileRows) -> str:
    """Return a text that differs once a server has written to the file."""
    counts = [source.count(table) for table in TABLES]
    return hashlib.sha256(repr((source.newest_act(), counts)).encode()).hexdigest()


def _batches(rows: Iterator[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    batch, size = list[tuple[Any, ...]](), 0
    for row in rows:
        batch.append(row)
        size += sum(len(value) for value in row if isinstance(value, str | bytes))
        if len(batch) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _converted(row: tuple[Any, ...], columns: Mapping[str, str]) -> list[Any]:
    """Return the values of a row as PostgreSQL holds them.

    columns: each with its type.
    """
    return [_converted_value(value, name, of_type) for value, (name, of_type) in zip(row, columns.items(), strict=True)]


def _converted_value(value: Any, name: str, of_type: str) -> Any:
    if value is None:
        return None
    if of_type == "boolean":
        return bool(value)
    if name == "tags":
        # Filters by tag read this column as JSON, in which NUL is an escape.
        return NUL_IN_JSON.sub(r"\1\\ufffd", value)
    return without_nul(value)


def _digest_of(connection: PostgresConnection, sql: str) -> str:
    with closing(connection.stream(sql)) as rows:
        return _digest(list(row) for row in rows)


def _digest(rows: Any) -> str:
    """Return a digest of rows, in their order. Numbers of both databases are compared as floats."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(repr([float(value) if isinstance(value, int) else value for value in row]).encode())
    return digest.hexdigest()
