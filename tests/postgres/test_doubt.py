"""Transactions whose COMMIT has no answer: the server learns whether they are stored, and counts nothing twice."""

from pathlib import Path

import pytest

from app.access.daily_use import DailyUse
from app.access.rate_limit_sync import RateLimitSync
from app.domain.records import new_id
from app.domain.storage_health import CommitUnknownError, StorageUnavailableError
from app.storage.connection import DatabaseConnection
from app.storage.store import Store
from app.tenants.gate import TenantGates
from app.tenants.limits import TenantLimits
from app.tenants.token_bucket import Use
from tests.on_postgres import url_of
from tests.postgres.lost_answers import lose_answer_to_commit

MINUTE = TenantLimits(requests_per_minute=3)


async def titles(store: Store) -> list[str | None]:
    return [each.title for each in (await store.conversations.page()).conversations]


async def test_write_that_is_stored_returns_its_result(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    lose_answer_to_commit(monkeypatch)
    chat = await store.conversations.create({"title": "Tides"})
    assert (await store.conversations.get(chat.id)).title == "Tides"
    assert await titles(store) == ["Tides"]
    assert store.database.health.reason is None


async def test_write_that_is_not_stored_is_an_outage(store: Store) -> None:
    def end_itself_at_commit(connection: DatabaseConnection) -> None:
        connection.execute(
            "CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS "
            "'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END'"
        )
        connection.execute(
            "CREATE CONSTRAINT TRIGGER ends AFTER UPDATE ON conversation DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION end_session()"
        )

    chat = await store.conversations.create({"title": "Tides"})
    await store.database.write(end_itself_at_commit)
    with pytest.raises(StorageUnavailableError, match="nothing was stored") as raised:
        await store.conversations.change(chat.id, {"title": "Waves"})
    assert not isinstance(raised.value, CommitUnknownError)
    assert await titles(store) == ["Tides"]


async def test_doubt_is_settled_by_the_next_write(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    lose_answer_to_commit(monkeypatch, is_away=True)
    with pytest.raises(CommitUnknownError) as raised:
        await store.conversations.create({"title": "Tides"})
    assert not raised.value.is_stored.done()
    await store.database.probe()
    assert raised.value.is_stored.result()


async def test_repeated_creation_in_doubt_makes_one_chat(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    chat = new_id("conv")
    lose_answer_to_commit(monkeypatch, is_away=True)
    with pytest.raises(CommitUnknownError):
        await store.conversations.create({"title": "Tides"}, conversation_id=chat)
    again = await store.conversations.create({"title": "Tides"}, conversation_id=chat)
    assert (again.id, await titles(store)) == (chat, ["Tides"])


async def test_doubt_about_a_lost_write_is_settled_too(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_answer_to_commit(monkeypatch, is_away=True)
    with pytest.raises(CommitUnknownError) as raised:
        await store.conversations.create({"title": "Tides"})
    # A standby that lacks the write has taken the place of its server.
    other = await Store.open_postgres(url_of(tmp_path))
    await other.database.write(lambda connection: connection.execute("DELETE FROM last_write"))
    await other.close()
    await store.database.probe()
    assert not raised.value.is_stored.result()


async def test_use_in_doubt_is_charged_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    gates = TenantGates(lambda _: MINUTE, lambda: 0.0)
    keeper = RateLimitSync(gates, store.owed_use)
    gates.of("alice")._count_requests(1)
    lose_answer_to_commit(monkeypatch, is_away=True)
    await keeper.save()
    await store.database.probe()
    await keeper.save()
    assert 15 < (await store.owed_use.all())["alice"].requests.seconds <= 20


async def test_daily_use_in_doubt_is_counted_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    gates = TenantGates(lambda _: MINUTE, lambda: 0.0)
    gates.of("alice")._count_requests(1)
    gates.of("alice")._count(15)
    daily = DailyUse(gates, store.daily_use)
    lose_answer_to_commit(monkeypatch, is_away=True)
    await daily.save()
    await store.database.probe()
    await daily.save()
    assert await store.daily_use.since("2001-01-01") == {"alice": Use(1, 15)}
