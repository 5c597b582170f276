"""The SQLite side of the storage's interface: rows, counts of changes, and the kinds of errors."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest

from app.storage.connection import DatabaseConnection
from app.storage.errors import ConstraintError, DatabaseError, DuplicateError, MissingReferenceError
from app.storage.search_words import segmented
from app.storage.sqlite.connection import SqliteConnection
from app.storage.sqlite.database import SqliteDatabase
from app.storage.sqlite.migrating import migrate

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    database = await SqliteDatabase.open(tmp_path / "conversations.db")
    yield database
    await database.close()


@pytest.fixture
def connection(tmp_path: Path) -> DatabaseConnection:
    connection = SqliteConnection.open(tmp_path / "file.db")
    connection.execute("CREATE TABLE item(name TEXT, amount INTEGER)")
    connection.execute_many("INSERT INTO item(name, amount) VALUES (?, ?)", [("a", 1), ("b", 2), ("c", 3)])
    return connection


def test_rows_have_values_by_name_and_in_order(connection: DatabaseConnection) -> None:
    row = connection.fetch_one("SELECT name, amount FROM item WHERE name = :name", {"name": "b"})
    assert row is not None
    assert (row["name"], row["amount"], list(row), dict(row)) == ("b", 2, ["b", 2], {"name": "b", "amount": 2})
    assert connection.fetch_one("SELECT name FROM item WHERE name = ?", ("d",)) is None
    assert [list(each) for each in connection.fetch_all("SELECT name FROM item ORDER BY name")] == [["a"], ["b"], ["c"]]


def test_execute_counts_the_changed_rows(connection: DatabaseConnection) -> None:
    assert connection.execute("UPDATE item SET amount = 0 WHERE amount > ?", (1,)) == 2
    assert connection.execute("DELETE FROM item WHERE name = ?", ("d",)) == 0


def test_iterated_rows_are_not_loaded_at_once(connection: DatabaseConnection) -> None:
    assert [row["i"] for row in islice(connection.iterate(ENDLESS), 3)] == [1, 2, 3]


ADD_CONVERSATION = "INSERT INTO conversation(id, created_at, updated_at) VALUES ('conv_1', 0, 0)"


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        (ADD_CONVERSATION, DuplicateError),
        ("INSERT INTO staged(conversation_id, import_id) VALUES ('conv_2', 'import')", MissingReferenceError),
        ("UPDATE conversation SET source = 'nowhere'", ConstraintError),
        ("UPDATE conversation SET nothing = 1", DatabaseError),
    ],
)
async def test_rejected_statement_raises_its_kind_of_error(
    database: SqliteDatabase, sql: str, kind: type[DatabaseError]
) -> None:
    await database.write(lambda connection: connection.execute(ADD_CONVERSATION))
    with pytest.raises(DatabaseError) as caught:
        await database.write(lambda connection: connection.execute(sql))
    assert type(caught.value) is kind
    assert database.health.reason is None, "a defect is no outage"


async def test_rejected_read_raises_a_database_error(database: SqliteDatabase) -> None:
    with pytest.raises(DatabaseError, match="no such table"):
        await database.read("SELECT * FROM missing")


async def test_copied_database_is_what_the_migrations_make(tmp_path: Path) -> None:
    """Compare the files that tests open with one of the migrations: see `tests.database_copies`."""

    def contents(raw: sqlite3.Connection) -> list[list[tuple[object, ...]]]:
        queries = ["SELECT type, name, sql FROM sqlite_schema", "PRAGMA user_version", "PRAGMA integrity_check"]
        queries += [f"SELECT * FROM {name}" for name in ("server_clock", "upkeep", "tenant_usage")]
        return [[tuple(row) for row in raw.execute(query).fetchall()] for query in queries]

    with closing(SqliteConnection.open(tmp_path / "migrated.db").raw) as migrated:
        migrated.create_function("segmented", 1, segmented, deterministic=True)
        migrate(migrated, tmp_path / "migrated.db")
        expected = contents(migrated)
    for name in ("first", "second"):
        database = await SqliteDatabase.open(tmp_path / name)
        await database.close()
        with closing(sqlite3.connect(tmp_path / name)) as raw:
            assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert contents(raw) == expected
