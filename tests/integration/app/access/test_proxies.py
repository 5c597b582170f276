"""A server behind a reverse proxy: keys are required, and the public host name is accepted."""

import logging
from pathlib import Path

import aiohttp
import pytest

from app.access.authentication import COOKIE
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import api_client, running_server

PUBLIC = "https://ebb.example"
FORWARDED = (
    {"Forwarded": "for=192.0.2.1"},
    {"X-Forwarded-For": "192.0.2.1"},
    {"X-Forwarded-Proto": "https"},
    {"X-Forwarded-Host": "ebb.example"},
    {"X-Real-IP": "192.0.2.1"},
    {"Via": "1.1 caddy"},
)


async def error_of(response: aiohttp.ClientResponse) -> tuple[int, str, str]:
    error = (await response.json())["error"]
    return response.status, error["code"], error["message"]


@pytest.mark.parametrize("headers", FORWARDED)
async def test_keyless_server_refuses_proxied_requests(http: aiohttp.ClientSession, headers: dict[str, str]) -> None:
    for path in ("/", "/health", "/api/conversations", "/v1/models"):
        status, code, message = await error_of(await http.get(path, headers=headers))
        assert (status, code) == (403, "keys_needed_behind_proxy"), path
        assert "ebb keys create NAME" in message
    assert (await http.post("/api/conversations", json={}, headers=headers)).status == 403
    assert (await http.get("/api/conversations")).status == 200


async def test_first_key_lifts_refusal_of_proxied_requests(tmp_path: Path) -> None:
    async with running_server(tmp_path, ReplayEngine()) as server, api_client(server.url) as http:
        _, key = await server.services.access.administration.create_key("alice", "alice", "user")
        for headers in FORWARDED:
            assert (await http.get("/api/conversations", headers=headers)).status == 401
            with_key = headers | {"Authorization": f"Bearer {key}"}
            assert (await http.get("/api/conversations", headers=with_key)).status == 200


async def test_open_server_serves_proxied_requests_and_warns_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_server(tmp_path, ReplayEngine(), auth_policy="never") as server, api_client(server.url) as http:
        for headers in FORWARDED:
            assert (await http.get("/api/conversations", headers=headers)).status == 200
    [warning] = [record.getMessage() for record in caplog.records if record.name == "app.access.authentication"]
    assert "--without-keys" in warning


async def test_refusal_of_proxied_requests_is_logged_once(
    http: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    for headers in FORWARDED:
        await http.get("/health", headers=headers)
    [warning] = [record.getMessage() for record in caplog.records if record.name == "app.access.authentication"]
    assert "ebb keys create NAME" in warning


async def test_public_url_admits_host_forwarded_by_proxy(tmp_path: Path) -> None:
    proxied = {"Host": "ebb.example", "X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "https"}
    async with running_server(tmp_path, ReplayEngine(), public_url=PUBLIC) as server, api_client(server.url) as http:
        _, key = await server.services.access.administration.create_key("alice", "alice", "user")
        page = proxied | {"Origin": PUBLIC, "Sec-Fetch-Site": "same-origin"}
        login = await http.post("/api/login", json={"key": key}, headers=page)
        assert (login.status, login.cookies[COOKIE]["secure"]) == (200, True)
        cookie = {"Cookie": f"{COOKIE}={login.cookies[COOKIE].value}"}
        assert (await http.get("/api/conversations", headers=page | cookie)).status == 200
        assert (await http.get("/health", headers={"Host": "evil.example"})).status == 403
        assert (await http.get("/health")).status == 200


async def test_refusal_of_unknown_host_suggests_public_url(http: aiohttp.ClientSession) -> None:
    status, _, message = await error_of(await http.get("/", headers={"Host": "chat.example:8443"}))
    assert status == 403
    assert "--public-url https://chat.example" in message


async def test_login_under_public_https_name_sets_secure_cookie(tmp_path: Path) -> None:
    """Derive `secure` from the public URL: a proxy on another machine is not trusted to report the scheme."""
    async with (
        running_server(
            tmp_path, ReplayEngine(), bound_host="0.0.0.0", public_url=PUBLIC, auth_policy="always"
        ) as server,
        api_client(server.url) as http,
    ):
        _, key = await server.services.access.administration.create_key("alice", "alice", "user")
        for host, secure in (("ebb.example", True), ("192.0.2.7:8000", "")):
            login = await http.post("/api/login", json={"key": key}, headers={"Host": host})
            assert login.cookies[COOKIE]["secure"] == secure, host


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("evil.example", 403),
        ("192.168.1.5.evil.example", 403),
        ("", 200),
        ("192.168.1.5:8000", 200),
        ("[fd00::5]:8000", 200),
        ("ebb", 200),
        ("nas.local:8000", 200),
        ("ebb.example", 200),
        ("localhost:8000", 200),
    ],
)
async def test_open_server_on_all_addresses_blocks_rebinding(tmp_path: Path, name: str, status: int) -> None:
    async with (
        running_server(
            tmp_path, ReplayEngine(), bound_host="0.0.0.0", public_url=PUBLIC, auth_policy="never"
        ) as server,
        api_client(server.url) as http,
    ):
        assert (await http.get("/api/conversations", headers={"Host": name})).status == status


async def test_server_that_always_requires_keys_accepts_any_host(tmp_path: Path) -> None:
    async with (
        running_server(tmp_path, ReplayEngine(), bound_host="0.0.0.0", auth_policy="always") as server,
        api_client(server.url) as http,
    ):
        assert (await http.get("/health", headers={"Host": "any.example"})).status == 200
