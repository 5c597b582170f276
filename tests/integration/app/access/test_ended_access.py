"""Requests in progress whose key or login ends: their clients receive nothing more."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from app.accounts.accounts import Accounts
from app.accounts.passwords import Passwords
from app.accounts.rules import GroupRules
from app.storage.store import Store
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import api_client, running_server
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
    ("POST", "/v1/completions", {"model": "fake-1", "prompt": "hi", "stream": True, "n": 2}, "invalid_api_key"),
    ("POST", "/v1/messages", {**ASKED, "max_tokens": 100}, "authentication_error"),
    ("POST", "/api/chat", ASKED, "Incorrect API key provided"),
    ("POST", "/api/generate", {"model": "fake-1", "prompt": "hi"}, "Incorrect API key provided"),
]
"""Streams with their bodies, and the word by which their last frame names the reason."""
WHOLE: list[tuple[str, dict[str, Any]]] = [
    ("/v1/chat/completions", {**ASKED, "stream": False}),
    ("/v1/chat/completions", {**ASKED, "stream": False, "n": 2}),
    ("/v1/completions", {"model": "fake-1", "prompt": "hi"}),
    ("/v1/responses", {"model": "fake-1", "input": "hi"}),
    ("/v1/responses/compact", {"model": "fake-1", "input": "hi"}),
    ("/v1/messages", {**ASKED, "stream": False, "max_tokens": 100}),
    ("/api/chat", {**ASKED, "stream": False}),
    ("/api/generate", {"model": "fake-1", "prompt": "hi", "stream": False}),
]
Ending = Callable[[People], Awaitable[object]]


async def revoke_all(people: People) -> None:
    for key in await people.server.services.store.keys.all():
        if key.tenant == "alice":
            await people.server.services.access.administration.revoke_key(key.id)


async def delete_tenant(people: People) -> None:
    await people.server.services.access.administration.delete_tenant("alice")


ENDINGS: tuple[Ending, ...] = (revoke_all, delete_tenant)


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
    key, secret = await people.server.services.access.administration.create_key("phone", "alice", "user")
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
    await people.server.services.access.administration.revoke_key(key_id)
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
    await people.server.services.access.administration.revoke_key(key_id)
    assert "done" not in await rest_of(asked) + await rest_of(followed)
    people.engine.allow(None)
    await begun(own, b"event: done")


@pytest.mark.parametrize(("path", "body"), WHOLE)
async def test_whole_answer_of_a_revoked_key_is_refused(people: People, path: str, body: dict[str, Any]) -> None:
    people.engine.hold()
    key_id, phone = await phone_of(people)
    asked = asyncio.ensure_future(people.stranger.post(path, json=body, headers=phone))
    await people.engine.until_running(body.get("n", 1))
    await people.server.services.access.administration.revoke_key(key_id)
    response = await asked
    assert response.status == 401
    assert "API key" in await response.text()
    people.engine.allow(None)
    assert (await people.alice.get("/api/conversations")).status == 200


@pytest.mark.parametrize("end", ENDINGS)
async def test_streams_end_with_all_keys_or_the_tenant(people: People, end: Ending) -> None:
    people.engine.hold()
    people.engine.allow(2)
    pages = await people.alice.get("/api/events")
    answer = await people.alice.post("/v1/chat/completions", json=ASKED)
    others = await people.bob.get("/api/events")
    await begun(pages, b"opened")
    await begun(answer, b"w0")
    await begun(others, b"opened")
    await end(people)
    assert await rest_of(pages) == ""
    assert "w3" not in await rest_of(answer)
    await created(people.bob)
    await begun(others, b"conversation")


async def test_followed_response_of_a_revoked_key_ends(people: People) -> None:
    people.engine.hold()
    people.engine.allow(2)
    key_id, phone = await phone_of(people)
    body = {"model": "fake-1", "input": "hi", "background": True}
    response_id = (await (await people.alice.post("/v1/responses", json=body)).json())["id"]
    followed = await people.stranger.get(f"/v1/responses/{response_id}?stream=true", headers=phone)
    await begun(followed, b"w0")
    await people.server.services.access.administration.revoke_key(key_id)
    assert "invalid_api_key" in await rest_of(followed)
    people.engine.allow(None)
    own = await people.alice.get(f"/v1/responses/{response_id}?stream=true")
    await begun(own, b"response.completed")


async def test_live_figures_end_with_the_administrators_key(people: People) -> None:
    made, secret = await people.server.services.access.administration.create_key("watch", "root", "admin")
    live = await people.stranger.get("/api/live", headers={"Authorization": f"Bearer {secret}"})
    await begun(live, b"data:")
    await people.server.services.access.administration.revoke_key(made.id)
    async with asyncio.timeout(20):
        await live.read()


async def test_body_that_is_still_sent_is_refused(people: People) -> None:
    key_id, phone = await phone_of(people)
    go = asyncio.Event()

    async def pieces() -> AsyncIterator[bytes]:
        yield b'{"title": "'
        await people.server.services.access.administration.revoke_key(key_id)
        await go.wait()
        yield b'later"}'

    asked = asyncio.ensure_future(people.stranger.post("/api/conversations", data=pieces(), headers=phone))
    response = await asked
    go.set()
    assert response.status == 401


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


@pytest.mark.parametrize("is_closed", [True, False])
async def test_stream_of_a_person_ends_with_the_login(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_closed: bool
) -> None:
    monkeypatch.setattr("app.access.requests_in_progress.EXPIRY_SECONDS", 0.1)
    accounts = Accounts(
        rules=GroupRules(admits_own=True),
        passwords=Passwords(memory_kib=64),
        login_seconds=60.0 if is_closed else 2.0,
    )
    async with (
        running_server(tmp_path, ReplayEngine(), auth_policy="always", accounts=accounts) as server,
        api_client(server.url) as page,
        api_client(server.url) as phone,
    ):
        _, password = await server.services.access.password_logins.add("ada", admin=False)
        for client in (page, phone):
            assert (await client.post("/api/login/password", json={"name": "ada", "password": password})).status == 200
        pages = await page.get("/api/events")
        await begun(pages, b"opened")
        if is_closed:
            sessions = (await (await phone.get("/api/account/sessions")).json())["data"]
            [other] = [each["id"] for each in sessions if not each["current"]]
            assert (await phone.delete(f"/api/account/sessions/{other}")).status == 204
        assert await rest_of(pages) == ""
        assert (await page.get("/api/account")).status == 401


async def test_request_that_ends_its_own_access_is_answered(people: People) -> None:
    key, secret = await people.server.services.access.administration.create_key("second", "root", "admin")
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
