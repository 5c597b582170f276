"""Deletions of all chats of a tenant: their statements do not grow with the number of chats."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from app.storage.connection import DatabaseConnection, Parameters
from app.storage.postgres.connection import PostgresConnection
from app.storage.sqlite.connection import SqliteConnection
from tests.integration.tenants import serving_people
from tests.many_chats import add_chats

CHATS = 100
MOST_STATEMENTS = CHATS // 2
"""Includes those of an idle server."""


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the statements on connections of both databases, as they are executed."""
    seen = list[str]()

    def count(kind: Any, name: str) -> None:
        method = getattr(kind, name)

        def counted(self: DatabaseConnection, statement: str, parameters: Parameters = (), /) -> Any:
            seen.append(statement)
            return method(self, statement, parameters)

        monkeypatch.setattr(kind, name, counted)

    def count_many(kind: Any) -> None:
        method = kind.execute_many

        def counted(self: DatabaseConnection, statement: str, rows: Iterable[Parameters], /) -> None:
            given = list(rows)
            seen.extend([statement] * len(given))
            method(self, statement, given)

        monkeypatch.setattr(kind, "execute_many", counted)

    for kind in (PostgresConnection, SqliteConnection):
        for name in ("execute", "fetch_all", "fetch_one"):
            count(kind, name)
        count_many(kind)
    return seen


async def test_deletion_of_all_chats_needs_few_statements(tmp_path: Path, executed: list[str]) -> None:
    async with serving_people(tmp_path) as people:
        await add_chats(people.server.services.store.of("alice"), CHATS)
        for path, deleted in (("/api/conversations", CHATS + 1), ("/api/deleted-conversations", CHATS * 3 // 2 + 1)):
            executed.clear()
            async with people.alice.delete(path) as response:
                assert (response.status, (await response.json())["deleted"]) == (200, deleted)
            assert len(executed) <= MOST_STATEMENTS, path
