"""People with accounts: at a real OpenID provider and behind a proxy, each a separate tenant."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from app.access.authentication import COOKIE
from app.accounts.accounts import Accounts
from app.accounts.provider import OidcClient, OidcProvider
from app.accounts.proxy_login import ProxyLogin
from app.accounts.rules import GroupRules
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.conversations_client import created, error_of, read, said
from tests.oidc_provider import oidc_provider

RULES = GroupRules(
    {"staff": "user", "ops": "admin"}, {"staff": {"concurrent_runs": 2}, "ops": {"requests_per_minute": 9}}
)
BEHIND_PROXY = Accounts(
    proxy=ProxyLogin("x-forwarded-user", "x-forwarded-groups", (ip_network("127.0.0.1"),)), rules=RULES
)
ADA = {"X-Forwarded-User": "ada", "X-Forwarded-Groups": "staff, visitors"}
BOB = {"X-Forwarded-User": "bob", "X-Forwarded-Groups": "staff"}
ROOT = {"X-Forwarded-User": "root", "X-Forwarded-Groups": "staff,ops"}
PEOPLE = (
    {"sub": "ada", "name": "Ada", "email": "ada@example.org", "groups": ["staff"]},
    {"sub": "bob", "name": "Bob", "groups": ["staff"]},
    {"sub": "root", "name": "Root", "groups": ["staff", "ops"]},
    {"sub": "eve", "name": "Eve", "groups": ["visitors"]},
)


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with oidc_provider(*map(json.dumps, PEOPLE)) as url:
        yield url


@pytest.fixture
async def server(issuer: str, tmp_path: Path) -> AsyncIterator[RunningServer[ReplayEngine]]:
    home = "http://127.0.0.1:1/"
    client = OidcClient(
        issuer=issuer,
        client_id="ebb",
        secret="s3cret",
        scopes="openid profile email",
        groups_claim="groups",
        redirect_uri=f"{home}login/callback",
        home=home,
    )
    accounts = Accounts(provider=OidcProvider(client), rules=RULES)
    async with running_server(tmp_path, ReplayEngine(), auth_policy="always", accounts=accounts) as server:
        yield server


async def log_in(page: aiohttp.ClientSession, name: str) -> aiohttp.ClientResponse:
    """Log in as a browser does, and return the response of the callback."""
    url = (await (await page.post("/api/login/start", json={})).json())["url"]
    async with aiohttp.ClientSession() as elsewhere:
        form = await elsewhere.post(url, data={"sub": name}, allow_redirects=False)
        assert form.status == 302, await form.text()
        back = form.headers["Location"]
    return await page.get("/login/callback?" + back.partition("?")[2], allow_redirects=False)


async def test_two_people_log_in_and_see_their_own_chats_only(server: RunningServer[ReplayEngine]) -> None:
    async with api_client(server.url) as ada, api_client(server.url) as bob:
        for page, name in ((ada, "ada"), (bob, "bob")):
            assert (await log_in(page, name)).headers["Location"] == "/"
        server.engine.allow(None)
        conversation = await created(ada)
        await said(ada, conversation, "hi")
        assert (await bob.get(f"/api/conversations/{conversation}")).status == 404
        assert (await read(bob, "/api/conversations"))["data"] == []
        account = await read(ada, "/api/account")
        assert (account["name"], account["email"], account["scope"]) == ("Ada", "ada@example.org", "user")
        assert account["limits"]["concurrent_runs"] == 2
        assert account["tenant"] != (await read(bob, "/api/account"))["tenant"]
        usage = await read(ada, "/api/account/usage")
        assert [day["answers"] for day in usage["days"]] == [1]
        assert [chat["conversation_id"] for chat in usage["chats"]] == [conversation]
        assert usage["days"][0]["prompt_tokens"] > 0
        # The same person in another browser.
        async with api_client(server.url) as phone:
            await log_in(phone, "ada")
            assert (await phone.get(f"/api/conversations/{conversation}")).status == 200


async def test_logout_ends_the_session_here_and_at_the_provider(
    server: RunningServer[ReplayEngine], issuer: str
) -> None:
    async with api_client(server.url) as page:
        cookie = (await log_in(page, "ada")).cookies[COOKIE]
        url = (await read(page, "/api/account"))["logout_url"]
        assert url.startswith(f"{issuer}/oauth2/end_session?client_id=ebb&post_logout_redirect_uri=")
        assert (await page.post("/api/logout")).status == 204
        stolen = await page.get("/api/conversations", headers={"Cookie": f"{COOKIE}={cookie.value}"})
        assert stolen.status == 401


async def test_session_is_revoked_from_another_browser(server: RunningServer[ReplayEngine]) -> None:
    async with api_client(server.url) as laptop, api_client(server.url) as phone, api_client(server.url) as bob:
        for page, name in ((laptop, "ada"), (phone, "ada"), (bob, "bob")):
            await log_in(page, name)
        sessions = (await read(laptop, "/api/account/sessions"))["data"]
        assert [session["current"] for session in sessions] == [False, True]
        lost = f"/api/account/sessions/{sessions[0]['id']}"
        assert (await bob.delete(lost)).status == 404
        assert (await phone.get("/api/conversations")).status == 200
        assert (await laptop.delete(lost)).status == 204
        assert (await phone.get("/api/conversations")).status == 401
        assert (await laptop.get("/api/conversations")).status == 200


async def test_person_makes_and_revokes_keys_of_the_own_account(server: RunningServer[ReplayEngine]) -> None:
    async with api_client(server.url) as page, api_client(server.url) as bob:
        await log_in(page, "root")
        await log_in(bob, "bob")
        made = await (await page.post("/api/account/keys", json={"name": "laptop"})).json()
        assert made["scope"] == "user", "a key must never have more than its holder asked for"
        async with api_client(server.url, made["key"]) as client:
            assert (await client.get("/api/conversations")).status == 200
            assert (await client.get("/api/admin/people")).status == 403
            assert (await error_of(await client.post("/api/account/keys", json={"name": "more"}), 403))["code"] == (
                "person_required"
            )
            assert [key["id"] for key in (await read(page, "/api/account/keys"))["data"]] == [made["id"]]
            assert (await read(bob, "/api/account/keys"))["data"] == []
            assert (await bob.delete(f"/api/account/keys/{made['id']}")).status == 404
            assert (await page.delete(f"/api/account/keys/{made['id']}")).status == 204
            assert (await client.get("/api/conversations")).status == 401


async def test_disabled_person_is_out_with_sessions_and_keys(server: RunningServer[ReplayEngine]) -> None:
    async with api_client(server.url) as ada, api_client(server.url) as root:
        await log_in(ada, "ada")
        await log_in(root, "root")
        key = (await (await ada.post("/api/account/keys", json={"name": "laptop"})).json())["key"]
        conversation = await created(ada)
        await said(ada, conversation, "one")
        link = (await (await ada.post(f"/api/conversations/{conversation}/shares", json={})).json())["path"]
        assert (await root.get(link)).status == 200
        people = {person["name"]: person for person in (await read(root, "/api/admin/people"))["data"]}
        assert (people["Ada"]["scope"], people["Root"]["scope"]) == ("user", "admin")
        path = f"/api/admin/people/{people['Ada']['id']}"
        assert (await ada.patch(path, json={"disabled": True})).status == 403
        own = await root.patch(f"/api/admin/people/{people['Root']['id']}", json={"disabled": True})
        assert (await error_of(own, 409))["code"] == "own_account"
        pages = await ada.get("/api/events")
        assert (await root.patch(path, json={"disabled": True})).status == 200
        async with asyncio.timeout(20):
            assert b"opened" in await pages.read(), "an open stream ends"
        assert (await ada.get("/api/conversations")).status == 401
        assert (await root.get(link)).status == 404
        async with api_client(server.url, key) as client:
            assert (await client.get("/api/conversations")).status == 401
            assert (await log_in(ada, "ada")).headers["Location"] == "/?login=disabled"
            assert (await root.patch(path, json={"disabled": False})).status == 200
            assert (await client.get("/api/conversations")).status == 200
        assert (await ada.get("/api/conversations")).status == 401, "admission revives no login"


async def test_person_in_no_group_may_not_log_in(server: RunningServer[ReplayEngine]) -> None:
    async with api_client(server.url) as page:
        response = await log_in(page, "eve")
        assert (response.headers["Location"], COOKIE in response.cookies) == ("/?login=groups", False)
        assert (await read(page, "/api/login"))["principal"] is None


async def test_deleted_tenant_forgets_its_person(server: RunningServer[ReplayEngine]) -> None:
    async with api_client(server.url) as ada, api_client(server.url) as root:
        await log_in(ada, "ada")
        await log_in(root, "root")
        conversation = await created(ada)
        tenant = (await read(ada, "/api/account"))["tenant"]
        assert (await root.delete(f"/api/admin/tenants/{tenant}")).status == 200
        assert (await ada.get("/api/conversations")).status == 401
        assert "Ada" not in {person["name"] for person in (await read(root, "/api/admin/people"))["data"]}
        await log_in(ada, "ada")
        assert (await read(ada, "/api/account"))["tenant"] != tenant
        assert (await ada.get(f"/api/conversations/{conversation}")).status == 404


@pytest.fixture
async def proxied(tmp_path: Path) -> AsyncIterator[RunningServer[ReplayEngine]]:
    async with running_server(tmp_path, ReplayEngine(), auth_policy="always", accounts=BEHIND_PROXY) as server:
        yield server


async def test_proxy_names_people_who_are_separate_tenants(proxied: RunningServer[ReplayEngine]) -> None:
    async with api_client(proxied.url) as http:
        made = await (await http.post("/api/conversations", json={}, headers=ADA)).json()
        for headers, status in ((ADA, 200), (BOB, 404), ({}, 401)):
            assert (await http.get(f"/api/conversations/{made['id']}", headers=headers)).status == status
        assert (await http.get("/api/admin/people", headers=ADA)).status == 403
        people = (await (await http.get("/api/admin/people", headers=ROOT)).json())["data"]
        assert [person["name"] for person in people] == ["ada", "bob", "root"]
        # The groups of each request count: the proxy knows them best.
        refused = await http.get("/api/conversations", headers=ADA | {"X-Forwarded-Groups": "visitors"})
        assert (await error_of(refused, 403))["code"] == "account_refused"


async def test_foreign_pages_cannot_act_through_the_proxy(proxied: RunningServer[ReplayEngine]) -> None:
    async with api_client(proxied.url) as http:
        for foreign in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "same-site"}):
            for method, path in (("POST", "/api/conversations"), ("GET", "/api/conversations"), ("DELETE", "/api/x")):
                response = await http.request(method, path, json={}, headers=ADA | foreign)
                assert response.status == 403, (method, path, foreign)


FORGED: tuple[dict[str, str], ...] = (
    {},
    {"X-Forwarded-For": "10.0.0.1"},
    {"Forwarded": "for=10.0.0.1"},
    {"X-Real-IP": "10.0.0.1"},
)


async def test_header_from_an_unlisted_address_is_refused(tmp_path: Path) -> None:
    listed = Accounts(proxy=ProxyLogin("x-forwarded-user", "", (ip_network("10.0.0.0/8"),)), rules=GroupRules())
    async with (
        running_server(tmp_path, ReplayEngine(), auth_policy="always", accounts=listed) as server,
        api_client(server.url) as http,
    ):
        for forged in FORGED:
            refused = await http.get("/api/conversations", headers=ADA | forged)
            assert (await error_of(refused, 403))["code"] == "untrusted_proxy", forged
        assert await server.services.store.people.all() == []


async def test_header_that_names_two_people_is_refused(proxied: RunningServer[ReplayEngine]) -> None:
    async with api_client(proxied.url) as http:
        for names in (["ada", "root"], [""], ["x" * 256]):
            headers = [("X-Forwarded-User", name) for name in names]
            refused = await http.get("/api/conversations", headers=headers)
            assert (await error_of(refused, 403))["code"] == "untrusted_proxy", names


async def test_header_is_ignored_where_no_proxy_is_set(tmp_path: Path) -> None:
    async with running_server(tmp_path, ReplayEngine(), auth_policy="always") as server, api_client(server.url) as http:
        assert (await http.get("/api/conversations", headers=ROOT)).status == 401
        login: Any = await (await http.get("/api/login", headers=ROOT)).json()
        assert login["principal"] is None


async def test_key_works_through_the_proxy_without_the_person(proxied: RunningServer[ReplayEngine]) -> None:
    _, key = await proxied.services.access.administration.create_key("alice", "alice", "user")
    async with api_client(proxied.url, key) as client:
        account = await (await client.get("/api/account", headers=ADA)).json()
        assert (account["tenant"], account["is_person"]) == ("alice", False)
    assert await proxied.services.store.people.all() == []
