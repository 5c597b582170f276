"""Rows that PostgreSQL reads for a page of a list: those of the page, however many chats there are."""

import re

import pytest

from app.storage.connection import DatabaseConnection
from app.storage.list_filter import CHATS, TOP, ListFilter
from app.storage.store import Store
from tests.many_chats import add_chats
from tests.postgres.plans import noted_plans

CHATS_STORED = 2_000
LIMIT = 20


@pytest.mark.parametrize("is_analyzed", [True, False])
async def test_page_of_each_list_reads_its_own_rows(
    store: Store, monkeypatch: pytest.MonkeyPatch, is_analyzed: bool
) -> None:
    await add_chats(store, CHATS_STORED)

    def file(connection: DatabaseConnection) -> None:
        connection.execute("ALTER TABLE conversation SET (autovacuum_enabled = FALSE)")
        connection.execute("INSERT INTO folder(id, tenant, name) VALUES ('sea', ?, 'Sea')", (store.tenant,))
        connection.execute("UPDATE conversation SET folder_id = 'sea' WHERE title LIKE '%7' OR title LIKE '%3'")
        connection.execute("""UPDATE conversation SET tags = '["tide"]' WHERE title LIKE '%5'""")
        if is_analyzed:
            connection.execute("ANALYZE conversation")

    await store.database.write(file)
    plans = noted_plans(monkeypatch, "^SELECT [*] FROM shown_conversation")
    for wanted in (
        CHATS,
        ListFilter(archived=True),
        ListFilter(shown_in=TOP),
        ListFilter(shown_in="sea"),
        ListFilter(tag="tide"),
    ):
        plans.clear()
        assert len((await store.conversations.page(wanted, limit=LIMIT)).conversations) == LIMIT
        [plan] = plans
        read = re.findall(r"Scan .*on conversation .* rows=(\d+)(?:\.\d+)? loops", plan)
        assert sum(map(int, read)) == LIMIT + 1, plan
        assert "Rows Removed" not in plan
