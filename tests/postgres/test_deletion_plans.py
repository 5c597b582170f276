"""Rows that the deletion of all chats reads, with statistics of PostgreSQL and without."""

import re

import pytest

from app.storage import deletions, recently_deleted
from app.storage.store import Store
from tests.many_chats import add_chats
from tests.postgres.plans import noted_plans

CHATS = 800
BATCH = 50


async def test_deletion_of_all_chats_reads_each_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    await store.database.write(
        lambda connection: connection.execute("ALTER TABLE conversation SET (autovacuum_enabled = FALSE)")
    )
    await add_chats(store, CHATS)
    monkeypatch.setattr(recently_deleted, "HIDE_BATCH", BATCH)
    monkeypatch.setattr(deletions, "MARK_BATCH", BATCH)
    plans = noted_plans(monkeypatch, "^SELECT .*FROM (shown_)?conversation")
    shown = CHATS + 1
    assert len(await store.recently_deleted.hide_all("chat")) == shown
    assert await store.deletions.mark_deleted() == shown + CHATS // 2
    read = re.findall(r"Scan .*on conversation .* rows=(\d+)\.\d+ loops", "\n".join(plans))
    assert sum(map(int, read)) <= 2 * shown + CHATS // 2


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
    plans = noted_plans(monkeypatch, "^(UPDATE conversation|INSERT INTO removal)", is_analyzed=False)
    for step in (lambda: store.recently_deleted.hide_all("chat"), store.deletions.mark_deleted):
        if is_analyzed:
            await store.database.write(lambda connection: connection.execute("ANALYZE conversation"))
        assert await step()
    assert {name for plan in plans for name in re.findall(r"conversation_\w+", plan)} == {"conversation_pkey"}
