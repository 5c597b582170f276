"""GET /api/events: changes of the tenant's chats reach other browsers at once."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from app.runs.changes import MAX_FOLLOWERS
from tests.integration.conversations_client import created, error_of, said
from tests.integration.described import check_event
from tests.integration.sse_events import Event, events
from tests.integration.tenants import People, serving_people


@pytest.fixture
async def people(tmp_path: Path) -> AsyncIterator[People]:
    async with serving_people(tmp_path) as found:
        found.engine.allow(None)
        yield found


async def followed(page: aiohttp.ClientSession) -> AsyncIterator[Event]:
    """Follow the changes, and check each event against its description."""
    response = await page.get("/api/events")
    assert response.headers["Content-Type"].startswith("text/event-stream")
    async for event in events(response):
        check_event("GET", "/api/events", event.kind, event.data)
        yield event


async def until(stream: AsyncIterator[Event], kind: str, **wanted: Any) -> Event:
    """Read up to the event of a kind with some of its data."""
    async with asyncio.timeout(20):
        async for event in stream:
            if event.kind == kind and wanted.items() <= event.data.items():
                return event
    raise AssertionError(f"the stream ended without {kind}")


async def test_second_browser_sees_chats_answers_and_deletions(people: People) -> None:
    stream = followed(people.alice)
    assert (await until(stream, "opened")).data == {"answering": []}
    conversation = await created(people.alice, title="Tides")
    event = await until(stream, "conversation")
    assert (event.data["conversation"]["title"], event.data["answering"]) == ("Tides", False)
    people.engine.hold()
    await people.alice.post(f"/api/conversations/{conversation}/messages", json={"content": "hi"})
    await until(stream, "conversation", answering=True)
    late = followed(people.alice)
    assert (await until(late, "opened")).data == {"answering": [conversation]}
    people.engine.allow(None)
    await until(stream, "conversation", answering=False, answered=True)
    await people.alice.patch(f"/api/conversations/{conversation}", json={"title": "Ebb and flow"})
    assert (await until(stream, "conversation", answered=False)).data["conversation"]["title"] == "Ebb and flow"
    await people.alice.delete(f"/api/conversations/{conversation}")
    assert (await until(stream, "gone")).data == {"conversation_id": conversation}
    await people.alice.delete("/api/conversations")
    await until(stream, "reload")


async def test_seen_answer_loses_its_mark_in_all_pages(people: People) -> None:
    conversation, other = await created(people.alice, title="Tides"), await created(people.alice)
    stream = followed(people.alice)
    await until(stream, "opened")
    await said(people.alice, conversation, "hi")
    assert (await until(stream, "conversation", answered=True)).data["conversation"]["unread"]
    before = await (await people.alice.get(f"/api/conversations/{conversation}")).json()
    assert before["unread"]
    for _ in range(2):
        response = await people.alice.post(f"/api/conversations/{conversation}/seen")
        assert (response.status, await response.read()) == (204, b"")
    assert not (await until(stream, "conversation")).data["conversation"]["unread"]
    # The second call changed nothing, so the next event is of another chat.
    await people.alice.patch(f"/api/conversations/{other}", json={"pinned": True})
    assert (await until(stream, "conversation")).data["conversation"]["id"] == other
    listed = (await (await people.alice.get("/api/conversations")).json())["data"]
    [after] = [each for each in listed if each["id"] == conversation]
    assert [after[name] for name in ("unread", "version", "updated_at")] == [
        False,
        before["version"],
        before["updated_at"],
    ]


async def test_changes_of_other_tenants_and_of_api_calls_are_unseen(people: People) -> None:
    stream = followed(people.alice)
    await until(stream, "opened")
    await said(people.bob, await created(people.bob), "hi")
    await people.alice.post("/v1/responses", json={"model": "fake-1", "input": "hi"})
    own = await created(people.alice)
    assert (await until(stream, "conversation")).data["conversation"]["id"] == own


async def test_stream_ends_with_its_key_and_with_the_server(people: People) -> None:
    administration = people.server.services.access.administration
    key, secret = await administration.create_key("phone", "alice", "user")
    response = await people.stranger.get("/api/events", headers={"X-Api-Key": secret})
    other = await people.bob.get("/api/events")
    stream, remaining = events(response), events(other)
    await until(stream, "opened")
    await administration.revoke_key(key.id)
    await created(people.alice)
    async with asyncio.timeout(20):
        assert [event.kind async for event in stream] == []
        people.server.services.records.changes.stop()
        assert [event.kind async for event in remaining] == ["opened", "server_restart"]


async def test_pages_of_one_tenant_are_bounded(people: People) -> None:
    streams = [followed(people.alice) for _ in range(MAX_FOLLOWERS)]
    for stream in streams:
        await until(stream, "opened")
    refused = await error_of(await people.alice.get("/api/events"), 429)
    assert refused["code"] == "too_many_followers"
    await until(followed(people.bob), "opened")
