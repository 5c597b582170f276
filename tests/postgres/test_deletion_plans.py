"""Rows that the deletion of all chats reads, with statistics of PostgreSQL and without."""

import re

import psycopg
import pytest

from app.storage import deletions, recently_deleted
from app.storage.connection import Parameters, Row
from app.storage.postgres.connection import PostgresConnection
from app.storage.store import Store
from tests.many_chats import add_chats

CHATS = 800
BATCH = 50


async def test_deletion_of_all_chats_reads_each_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    await store.database.write(
        lambda connection: connection.execute("ALTER TABLE conversation SET (autovacuum_enabled = FALSE)")
    )
    await add_chats(store, CHATS)
    monkeypatch.setattr(recently_deleted, "HIDE_BATCH", BATCH)
    monkeypatch.setattr(deletions, "MARK_BATCH", BATCH)
    fetch_all, read = PostgresConnection.fetch_all, [0]

    def counted(self: PostgresConnection, statement: str, parameters: Parameters = (), /) -> list[Row]:
        if re.match(r"SELECT .*FROM (shown_)?conversation", statement):
            plan = fetch_all(self, f"EXPLAIN (ANALYZE) {statement}", parameters)
            text = "\n".join(str(row["QUERY PLAN"]) for row in plan)
            read[0] += sum(map(int, re.findall(r"Scan .*on conversation .* rows=(\d+)\.\d+ loops", text)))
        return fetch_all(self, statement, parameters)

    monkeypatch.setattr(PostgresConnection, "fetch_all", counted)
    shown = CHATS + 1
    assert len(await store.recently_deleted.hide_all("chat")) == shown
    assert await store.deletions.mark_deleted() == shown + CHATS // 2
    assert read[0] <= 2 * shown + CHATS // 2


@pytest.mark.parametrize("is_analyzed", [True, False])
async def test_each_batch_reads_its_own_chats_alone(
    store: Store, monkeypatch: pytest.MonkeyPatch, is_analyzed: bool
) -> None:
    await store.database.write(
        lambda connection: connection.execute("ALTER TABLE conversation SET (autovacuum_enabled = FALSE)")
    )
    await add_chats(store, CHATS)
    # PostgreSQL might well read all of so few rows.
    await store.database.write(lambda connection: connection.execute("SET enable_seqscan = off"))
    monkeypatch.setattr(recently_deleted, "HIDE_BATCH", BATCH)
    monkeypatch.setattr(deletions, "MARK_BATCH", BATCH)
    executed, scans = PostgresConnection._executed, set[str]()

    def noted(self: PostgresConnection, statement: str, parameters: Parameters) -> psycopg.Cursor[Row]:
        if statement.startswith(("UPDATE conversation", "INSERT INTO removal")):
            for row in executed(self, f"EXPLAIN {statement}", parameters):
                scans.update(re.findall(r"conversation_\w+", str(row["QUERY PLAN"])))
        return executed(self, statement, parameters)

    monkeypatch.setattr(PostgresConnection, "_executed", noted)
    for step in (lambda: store.recently_deleted.hide_all("chat"), store.deletions.mark_deleted):
        if is_analyzed:
            await store.database.write(lambda connection: connection.execute("ANALYZE conversation"))
        assert await step()
    assert scans == {"conversation_pkey"}
