"""Use of the tenants in the last days, as administrators read it."""

import logging
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from app.access.daily_use import DailyUse
from app.storage.errors import DatabaseError
from app.tenants.token_bucket import Use
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import api_client, running_server
from tests.integration.conversations_client import error_of, read
from tests.integration.tenants import People, serving_people

COMPLETION = {"model": "fake-1", "prompt": "0123456789", "max_tokens": 5}


@pytest.fixture
async def people(tmp_path: Path) -> AsyncIterator[People]:
    async with serving_people(tmp_path) as found:
        yield found


async def used(http: aiohttp.ClientSession, **query: str) -> dict[str, tuple[int, int]]:
    """Return the requests and tokens of each tenant."""
    listed = (await read(http, "/api/admin/tenants", **query))["data"]
    return {each["tenant"]: (each["requests"], each["tokens"]) for each in listed}


async def test_use_is_counted_over_a_restart(tmp_path: Path) -> None:
    async with serving_people(tmp_path) as first:
        assert (await first.alice.post("/v1/completions", json=COMPLETION)).status == 200
        assert (await used(first.root))["alice"] == (1, 15)
        await first.server.services.access.daily_use.save()
        assert (await first.alice.post("/v1/completions", json=COMPLETION)).status == 200
        assert (await used(first.root))["alice"] == (2, 30)
        key = first.keys["root"]
    async with running_server(tmp_path, ReplayEngine()) as again, api_client(again.url, key) as root:
        found = await used(root)
    assert (found["alice"], found["bob"]) == ((2, 30), (0, 0))


async def test_use_is_summed_over_the_days_asked_for(people: People) -> None:
    store = people.server.services.store.daily_use
    assert (await people.alice.post("/v1/completions", json=COMPLETION)).status == 200
    await people.server.services.access.daily_use.save()
    [today] = [row["day"] for row in await store._database.read("SELECT day FROM daily_use")]
    await store.add({("alice", "2001-01-01"): Use(5, 7)}, oldest="2001-01-01")
    assert await store.since("2001-01-01") == {"alice": Use(6, 22)}
    assert (await used(people.root, days="366"))["alice"] == (1, 15)
    await store.add({("bob", today): Use(1, 2)}, oldest=today)
    assert await store.since("2001-01-01") == {"alice": Use(1, 15), "bob": Use(1, 2)}
    assert (await error_of(await people.root.get("/api/admin/tenants?days=0"), 400))["param"] == "days"


async def test_use_goes_with_its_tenant(people: People) -> None:
    services = people.server.services
    for _ in range(2):
        assert (await people.alice.post("/v1/completions", json=COMPLETION)).status == 200
        await services.access.daily_use.save()
    assert (await people.alice.post("/v1/completions", json=COMPLETION)).status == 200
    assert (await people.bob.post("/v1/completions", json=COMPLETION)).status == 200
    await services.access.ring.read()
    assert (await people.root.delete("/api/admin/tenants/alice")).status == 200
    await services.access.daily_use.save()
    assert await services.store.daily_use.since("2001-01-01") == {"bob": Use(1, 15)}
    assert "alice" not in await used(people.root)
    [bobs] = [key for key in await services.store.keys.all() if key.tenant == "bob"]
    assert (await people.root.delete(f"/api/admin/keys/{bobs.id}")).status == 204
    assert (await used(people.root))["bob"] == (1, 15)


async def test_use_that_cannot_be_stored_is_stored_later(
    people: People, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    services = people.server.services
    keeper = DailyUse(services.access.gates, services.store.daily_use)

    async def refuse(*_: object, **__: object) -> None:
        raise DatabaseError("database or disk is full")

    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(type(services.store.daily_use), "add", refuse)
        for _ in range(2):
            assert (await people.alice.post("/v1/completions", json=COMPLETION)).status == 200
            await keeper.save()
    assert [record.message for record in caplog.records] == [
        "the tenants' use of today cannot be stored yet: database or disk is full"
    ]
    await keeper.save()
    assert (await services.store.daily_use.since("2001-01-01")) == {"alice": Use(2, 30)}
