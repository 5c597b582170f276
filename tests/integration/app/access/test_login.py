"""Login: a cookie that only the server's own page can use, valid as long as its key."""

import http.cookies
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from app.access.authentication import COOKIE
from app.domain.rights import RIGHTS
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import api_client, running_server
from tests.integration.conversations_client import created, error_of, read
from tests.integration.tenants import People, serving_people

ALLOWED = "https://chat.example"
FOREIGN = ({"Origin": ALLOWED}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "cross-site", "Origin": ALLOWED})


@pytest.fixture
async def people(tmp_path: Path) -> AsyncIterator[People]:
    async with serving_people(tmp_path, cors_origins=(ALLOWED,)) as found:
        yield found


async def logged_in(page: aiohttp.ClientSession, key: str, **headers: str) -> http.cookies.Morsel[str]:
    """Log in with a key and return the cookie, which `page` sends from then on."""
    response = await page.post("/api/login", json={"key": key}, headers=headers)
    assert response.status == 200, await response.text()
    return response.cookies[COOKIE]


async def test_page_logs_in_reads_its_tenants_chats_and_logs_out(people: People) -> None:
    page = people.stranger
    assert await read(page, "/api/login") == {
        "demands_keys": True,
        "principal": None,
        "provider": None,
        "passwords": False,
        "directory": False,
        "share_links": True,
        "token_prices": None,
    }
    cookie = await logged_in(page, people.keys["alice"])
    assert (cookie["httponly"], cookie["samesite"], cookie["secure"], cookie["path"]) == (True, "strict", "", "/")
    assert int(cookie["max-age"]) > 86_400
    assert cookie.value not in people.keys["alice"]
    principal = (await read(page, "/api/login"))["principal"]
    assert (principal["tenant"], principal["scope"]) == ("alice", "user")
    conversation = await created(page)
    assert (await people.alice.get(f"/api/conversations/{conversation}")).status == 200
    assert (await people.bob.get(f"/api/conversations/{conversation}")).status == 404

    away = await page.post("/api/logout")
    assert (away.status, away.cookies[COOKIE]["max-age"]) == (204, "0")
    stolen = await page.get("/api/conversations", headers={"Cookie": f"{COOKIE}={cookie.value}"})
    assert (await error_of(stolen, 401))["code"] == "missing_api_key"


async def test_cookie_is_secure_behind_an_https_proxy(people: People) -> None:
    # Set by a proxy on the same machine.
    assert (await logged_in(people.stranger, people.keys["alice"], **{"X-Forwarded-Proto": "https"}))["secure"]


async def test_wrong_key_is_refused_and_stores_no_login(people: People) -> None:
    for key in ("", "x", people.keys["alice"][:-1], people.keys["alice"][:-1] + "\n", "sk-ebb-" + "0" * 56):
        refused = await people.stranger.post("/api/login", json={"key": key})
        assert (await error_of(refused, 401))["code"] == "invalid_api_key"
        assert COOKIE not in refused.cookies
    too_much = await people.stranger.post("/api/login", json={"key": "x" * 5000})
    assert "4 KiB" in (await error_of(too_much, 413))["message"]
    assert (await people.server.services.store.access.read()).logins == {}


async def test_cookie_is_useless_to_other_origins(people: People) -> None:
    page = people.stranger
    await logged_in(page, people.keys["alice"])
    for headers in FOREIGN:
        for method, path in (("GET", "/api/conversations"), ("POST", "/api/conversations"), ("DELETE", "/api/nothing")):
            refused = await page.request(method, path, json={}, headers=headers)
            assert refused.status in (401, 403), (path, headers)
            assert "Access-Control-Allow-Credentials" not in refused.headers
        for path in ("/api/login", "/api/logout"):
            assert (await page.post(path, json={"key": people.keys["bob"]}, headers=headers)).status == 403
    assert (await read(page, "/api/conversations"))["data"] == []
    with_key = {"Origin": ALLOWED, "X-Api-Key": people.keys["alice"]}
    assert (await page.post("/api/conversations", json={}, headers=with_key)).status == 201


async def test_preflight_allows_the_x_api_key_header(people: People) -> None:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-api-key,content-type"}
    preflight = await people.stranger.options("/v1/messages", headers={"Origin": ALLOWED, **asked})
    assert preflight.status == 200
    assert "x-api-key" in preflight.headers["Access-Control-Allow-Headers"].lower()


async def test_key_in_header_takes_precedence_over_the_cookie(people: People) -> None:
    await logged_in(people.stranger, people.keys["alice"])
    wrong = await people.stranger.get("/api/conversations", headers={"Authorization": "Bearer sk-wrong"})
    assert (await error_of(wrong, 401))["code"] == "invalid_api_key"


async def test_login_survives_a_restart_and_ends_with_its_key(people: People, tmp_path: Path) -> None:
    cookie = await logged_in(people.stranger, people.keys["alice"])
    sent = {"Cookie": f"{COOKIE}={cookie.value}"}
    async with running_server(tmp_path, ReplayEngine()) as again, api_client(again.url) as page:
        assert (await page.get("/api/conversations", headers=sent)).status == 200
        key_id = (await (await page.get("/api/login", headers=sent)).json())["principal"]["key_id"]
        await again.services.access.administration.revoke_key(key_id)
        assert (await page.get("/api/conversations", headers=sent)).status == 401


async def test_login_beyond_the_limit_ends_the_oldest(people: People) -> None:
    cookies = [await logged_in(people.stranger, people.keys["bob"]) for _ in range(33)]
    people.stranger.cookie_jar.clear()
    first, second = [
        await people.stranger.get("/api/conversations", headers={"Cookie": f"{COOKIE}={cookie.value}"})
        for cookie in cookies[:2]
    ]
    assert (first.status, second.status) == (401, 200)


async def test_server_without_keys_needs_no_login(http: aiohttp.ClientSession) -> None:
    told = await read(http, "/api/login")
    anybody: dict[str, Any] = {"tenant": "local", "scope": "admin", "key_id": None, "name": None}
    anybody |= {"initial_password": False, "rights": list(RIGHTS)}
    assert told == {
        "demands_keys": False,
        "principal": anybody,
        "provider": None,
        "passwords": False,
        "directory": False,
        "share_links": True,
        "token_prices": None,
    }
    assert (await http.post("/api/login", json={"key": "x"})).status == 401
    assert (await http.get("/api/conversations", headers={"Authorization": "Bearer any"})).status == 200


async def test_no_log_holds_a_key(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with running_server(tmp_path, ReplayEngine(), log_messages=True) as server, api_client(server.url) as http:
        _, key = await server.services.access.administration.create_key("alice", "alice", "user")
        cookie = await logged_in(http, key)
        await http.post("/api/conversations", json={"title": "told"})
        secrets = ("grey gulls", "brown gulls", "black gulls", "white gulls", "blue gulls")
        await http.post("/api/login/password", json={"name": "ada", "password": secrets[0]})
        await http.put("/api/account/password", json={"old_password": secrets[1], "new_password": secrets[1]})
        await http.post("/scim/v2/Users", json={"password": secrets[2]})
        await http.post("/api/logins", json={"password": secrets[3]})
        await http.put("/api/login", json={"password": secrets[4]})
    logged = "\n".join(record.getMessage() + json.dumps(getattr(record, "facts", {})) for record in caplog.records)
    assert "told" in logged
    assert key not in logged
    assert cookie.value not in logged
    assert [secret for secret in secrets if secret in logged] == []
