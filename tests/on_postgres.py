"""Plugin of pytest that has every store of the tests in PostgreSQL: `-p tests.on_postgres`, with TEST_DATABASE_URL.

A store that a test opens at a path is a schema of that database, so a second store at the path has the same content.
"""

import hashlib
import os
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from app.storage.store import Store

SERVER = os.environ["TEST_DATABASE_URL"]


def schema_of(path: Path) -> str:
    """Return the name of the schema that stands for the file at `path`."""
    return "t" + hashlib.sha256(str(path).encode()).hexdigest()[:16]


def url_of(path: Path) -> str:
    """Return the address of the schema that stands for the file at `path`."""
    schema = schema_of(path)
    with psycopg.connect(SERVER, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}".encode())
    return f"{SERVER}&application_name={schema}&options={quote(f'-csearch_path={schema}')}"


@pytest.fixture(autouse=True)
def stores_in_postgres(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open stores in PostgreSQL during a test."""

    async def open_at(path: Path) -> Store:
        return await Store.open_postgres(url_of(path))

    monkeypatch.setattr(Store, "open", open_at)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that need a file."""
    config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("sqlite_file")])
    items[:] = [item for item in items if not item.get_closest_marker("sqlite_file")]
