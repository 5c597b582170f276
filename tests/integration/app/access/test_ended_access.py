"""Requests in progress whose key or login ends: their clients receive nothing more."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from app.storage.store import Store
from tests.integration.conversations_client import created
from tests.integration.tenants import People, serving_people

ASKED = {"model": "fake-1", "messages": [{"role": "user", "content": "hi"}], "stream": True}
STREAMS: list[tuple[str, str, dict[str, Any] | None, str]] = [
    ("GET", "/api/events", None, ""),
    ("POST", "/v1/chat/completions", ASKED, "invalid_api_key"),
    ("POST", "/v1/chat/completions", {**ASKED, "n": 2}, "invalid_api_key"),
    ("POST", "/v1/completions", {"model": "fake-1", "prompt": "hi", "stream": True}, "invalid_api_key"),
    ("POST", "/v1/responses", {"model": "fake-1", "input": "hi", "stream": True}, "invalid_api_key"),
    (
        "POST",
        "/v1/responses",
        {"model": "fake-1", "input": "hi", "stream": True, "background": True},
        "invalid_api_key",
    ),
    ("POST", "/v1/messages", {**ASKED, "max_tokens": 100}, "authentication_error"),
    ("POST", "/api/chat", ASKED, "Incorrect API key provided"),
    ("POST", "/api/generate", {"model": "fake-1", "prompt": "hi"}, "Incorrect API key provided"),
]
"""Streams with their bodies, and the word by which their last frame names the reason."""
WHOLE: list[tuple[str, dict[str, Any]]] = [
    ("/v1/chat/completions", {**ASKED, "stream": False}),
    ("/v1/responses", {"model": "fake-1", "input": "hi"}),
]


@pytest.fixture
async def people(tmp_path: Path) -> AsyncIterator[People]:
    async with serving_people(tmp_path) as found:
        yield found


async def begun(response: aiohttp.ClientResponse, words: bytes) -> None:
    """Read a stream up to `words`."""
    seen = b""
    while words not in seen:
        piece = await response.content.readany()
        assert piece, f"the stream ended after {seen!r}"
        seen += piece


async def rest_of(response: aiohttp.ClientResponse) -> str:
    """Read a stream to its end."""
    async with asyncio.timeout(20):
        return (await response.read()).decode()


async def phone_of(people: People) -> tuple[str, dict[str, str]]:
    """Make a key of alice. Returns its id and the header that presents it."""
    key, secret = await people.server.services.administration.create_key("phone", "alice", "user")
    return key.id, {"Authorization": f"Bearer {secret}"}


@pytest.mark.parametrize(("method", "path", "body", "words"), STREAMS)
async def test_every_stream_of_a_revoked_key_ends(
    people: People, method: str, path: str, body: dict[str, Any] | None, words: str
) -> None:
    people.engine.hold()
    people.engine.allow(2)
    key_id, phone = await phone_of(people)
    response = await people.stranger.request(method, path, json=body, headers=phone)
    await begun(response, b"opened" if body is None else b"w0")
    await people.server.services.administration.revoke_key(key_id)
    rest = await rest_of(response)
    assert words in rest
    assert "w3" not in rest
    people.engine.allow(None)
    assert (await people.alice.get("/api/conversations")).status == 200


async def test_chat_of_a_revoked_key_is_answered_to_the_end(people: People) -> None:
    people.engine.hold()
    people.engine.allow(2)
    key_id, phone = await phone_of(people)
    conversation = await created(people.alice)
    path = f"/api/conversations/{conversation}/messages"
    asked = await people.stranger.post(path, json={"content": "hi"}, headers=phone)
    await begun(asked, b"w0")
    run = f"/api/runs/{asked.headers['X-Run-Id']}/events"
    followed = await people.stranger.get(run, headers=phone)
    own = await people.alice.get(run)
    await begun(followed, b"snapshot")
    await people.server.services.administration.revoke_key(key_id)
    assert "done" not in await rest_of(asked) + await rest_of(followed)
    people.engine.allow(None)
    await begun(own, b"event: done")


@pytest.mark.parametrize(("path", "body"), WHOLE)
async def test_whole_answer_of_a_revoked_key_is_refused(people: People, path: str, body: dict[str, Any]) -> None:
    people.engine.hold()
    key_id, phone = await phone_of(people)
    asked = asyncio.ensure_future(people.stranger.post(path, json=body, headers=phone))
    await people.engine.until_running(1)
    await people.server.services.administration.revoke_key(key_id)
    response = await asked
    assert (response.status, (await response.json())["error"]["code"]) == (401, "invalid_api_key")


async def test_stream_ends_with_the_login_that_opened_it(people: People) -> None:
    login = await people.stranger.post("/api/login", json={"key": people.keys["alice"]})
    cookie = {"Cookie": f"ebb_login={login.cookies['ebb_login'].value}"}
    people.stranger.cookie_jar.clear()
    response = await people.stranger.get("/api/events", headers=cookie)
    other = await people.alice.get("/api/events")
    await begun(response, b"opened")
    await begun(other, b"opened")
    out = await people.stranger.post("/api/logout", headers=cookie)
    assert out.status == 204
    assert await rest_of(response) == ""
    await created(people.alice)
    await begun(other, b"conversation")


async def test_request_that_ends_its_own_access_is_answered(people: People) -> None:
    key, secret = await people.server.services.administration.create_key("second", "root", "admin")
    path = f"/api/admin/keys/{key.id}"
    answer = await people.stranger.delete(path, headers={"Authorization": f"Bearer {secret}"})
    assert answer.status == 204


async def test_change_by_another_process_ends_streams(people: People, tmp_path: Path) -> None:
    key_id, phone = await phone_of(people)
    response = await people.stranger.get("/api/events", headers=phone)
    await begun(response, b"opened")
    elsewhere = await Store.open(tmp_path / "conversations.db")
    await elsewhere.keys.revoke(key_id)
    await elsewhere.close()
    # No request follows that would have the server read its keys.
    assert await rest_of(response) == ""
