"""Provisioning (SCIM): the checks of a real client library, and what follows for people's logins and rights."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from ipaddress import ip_network
from pathlib import Path
from threading import Thread
from typing import Any

import aiohttp
import pytest
from httpx2 import Client

from app.accounts.accounts import Accounts
from app.accounts.proxy_login import ProxyLogin
from app.accounts.rules import GroupRules
from app.accounts.scim_plan import ScimPlan
from app.tenants.person import PROXY
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.conversations_client import created, error_of, read
from tests.sizes import TOOL

DEADLINE_SECONDS = 60
"""A deadline, not an estimate: the tests share the machine with other work."""
TOKEN = "t" * 40
USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
RULES = GroupRules({"staff": "user", "ops": "admin"}, {"staff": {"concurrent_runs": 2}})
ACCOUNTS = Accounts(
    proxy=ProxyLogin("x-user", "x-groups", (ip_network("127.0.0.1"),)),
    rules=RULES,
    scim=ScimPlan(hashlib.sha256(TOKEN.encode()).digest(), PROXY, "userName"),
)
ADA = {"X-User": "ada"}


@pytest.fixture(scope="module", autouse=True)
def _models_of_scim() -> None:
    """Import the library of SCIM on a separate thread, when the first test needs it.

    For each of its models, pydantic searches all modules for every frame of the stack. The stack of pytest is deep.
    """
    importing = Thread(target=import_module, args=("app.provisioning.service",))
    importing.start()
    importing.join()


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RunningServer[ReplayEngine]]:
    async with running_server(tmp_path, ReplayEngine(), auth_policy="always", accounts=ACCOUNTS) as server:
        yield server


@asynccontextmanager
async def provider(url: str, token: str = TOKEN) -> AsyncIterator[aiohttp.ClientSession]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/scim+json"}
    async with aiohttp.ClientSession(f"{url}/scim/v2/", headers=headers) as session:
        yield session


@pytest.fixture
async def scim(server: RunningServer[ReplayEngine]) -> AsyncIterator[aiohttp.ClientSession]:
    async with provider(server.url) as session:
        yield session


@pytest.fixture
async def page(server: RunningServer[ReplayEngine]) -> AsyncIterator[aiohttp.ClientSession]:
    async with api_client(server.url) as page:
        yield page


async def sent(
    scim: aiohttp.ClientSession, method: str, path: str, body: Any = None, status: int = 200, **headers: str
) -> Any:
    async with scim.request(method, path, json=body, headers=headers) as response:
        assert response.status == (204 if method in ("PATCH", "DELETE") and status == 200 else status), (
            await response.text()
        )
        return await response.json(content_type=None) if status != 204 else None


async def user(scim: aiohttp.ClientSession, name: str, **fields: Any) -> Any:
    return await sent(scim, "POST", "Users", {"schemas": [USER], "userName": name, **fields}, 201)


async def group(scim: aiohttp.ClientSession, name: str, *members: Any) -> Any:
    body = {"schemas": [GROUP], "displayName": name, "members": [{"value": each["id"]} for each in members]}
    return await sent(scim, "POST", "Groups", body, 201)


def patch(*operations: dict[str, Any]) -> dict[str, Any]:
    return {"schemas": [PATCH], "Operations": list(operations)}


@TOOL
async def test_server_passes_the_checks_of_scim2_tester(server: RunningServer[ReplayEngine]) -> None:
    def check() -> list[str]:
        # On a thread, as `_models_of_scim` does.
        from scim2_client.engines.httpx2 import SyncSCIMClient
        from scim2_tester import Status, check_server

        headers = {"Authorization": f"Bearer {TOKEN}"}
        with Client(base_url=f"{server.url}/scim/v2", headers=headers, timeout=DEADLINE_SECONDS) as http:
            client = SyncSCIMClient(http)
            client.discover()
            results = list(check_server(client))
        assert len(results) > 50
        wrong = (Status.ERROR, Status.CRITICAL)
        return [f"{each.title}: {each.reason}" for each in results if each.status in wrong]

    assert await asyncio.to_thread(check) == []


async def test_groups_give_role_and_limits_at_once(scim: aiohttp.ClientSession, page: aiohttp.ClientSession) -> None:
    ada = await user(scim, "ada", displayName="Ada", emails=[{"value": "ada@example.org"}])
    assert (await error_of(await page.get("/api/account", headers=ADA), 403))["code"] == "account_refused"
    staff = await group(scim, "staff", ada)
    account = await (await page.get("/api/account", headers=ADA)).json()
    assert (account["scope"], account["limits"]["concurrent_runs"]) == ("user", 2)
    # The proxy has no say about the groups of a provisioned person.
    forged = await page.get("/api/admin/people", headers=ADA | {"X-Groups": "ops"})
    assert forged.status == 403
    ops = await group(scim, "ops")
    add = patch({"op": "Add", "path": "members", "value": [{"value": ada["id"]}]})
    await sent(scim, "PATCH", f"Groups/{ops['id']}", add)
    assert (await page.get("/api/admin/people", headers=ADA)).status == 200
    shown = await sent(scim, "GET", f"Users/{ada['id']}")
    assert sorted(each["display"] for each in shown["groups"]) == ["ops", "staff"]
    # As Microsoft Entra removes a member.
    remove = patch({"op": "Remove", "path": "members", "value": [{"value": ada["id"]}]})
    await sent(scim, "PATCH", f"Groups/{ops['id']}", remove)
    assert (await page.get("/api/admin/people", headers=ADA)).status == 403
    await sent(scim, "PATCH", f"Groups/{staff['id']}", patch({"op": "replace", "path": "displayName", "value": "crew"}))
    assert (await page.get("/api/account", headers=ADA)).status == 403
    await sent(
        scim, "PATCH", f"Groups/{staff['id']}", patch({"op": "replace", "path": "displayName", "value": "staff"})
    )
    assert (await page.get("/api/account", headers=ADA)).status == 200
    await sent(scim, "DELETE", f"Groups/{staff['id']}", status=204)
    assert (await page.get("/api/account", headers=ADA)).status == 403


async def test_deactivation_ends_logins_and_keys_at_once(
    server: RunningServer[ReplayEngine], scim: aiohttp.ClientSession, page: aiohttp.ClientSession
) -> None:
    ada = await user(scim, "ada")
    await group(scim, "staff", ada)
    key = (await (await page.post("/api/account/keys", json={"name": "laptop"}, headers=ADA)).json())["key"]
    person = server.services.access.ring.people.by_id[ada["id"]]
    secret = await server.services.access.ring.begin_session(person, "Firefox", 60.0)
    async with api_client(server.url, key) as client, api_client(server.url) as browser:
        cookie = {"Cookie": f"ebb_login={secret}"}
        assert (await client.get("/api/conversations")).status == 200
        assert (await browser.get("/api/conversations", headers=cookie)).status == 200
        conversation = await created(client)
        # As Okta and as Microsoft Entra write it.
        for value in (False, "False"):
            await sent(scim, "PATCH", f"Users/{ada['id']}", patch({"op": "replace", "path": "active", "value": value}))
            assert (await sent(scim, "GET", f"Users/{ada['id']}"))["active"] is False
            assert (await client.get("/api/conversations")).status == 401
            assert (await browser.get("/api/conversations", headers=cookie)).status == 401
            assert (await page.get("/api/account", headers=ADA)).status == 403
            await sent(scim, "PATCH", f"Users/{ada['id']}", patch({"op": "replace", "value": {"active": True}}))
            assert (await client.get(f"/api/conversations/{conversation}")).status == 200
        assert (await browser.get("/api/conversations", headers=cookie)).status == 401, "admission revives no login"


async def test_person_disabled_by_an_administrator_stays_disabled(
    server: RunningServer[ReplayEngine], scim: aiohttp.ClientSession, page: aiohttp.ClientSession
) -> None:
    ada = await user(scim, "ada")
    await group(scim, "staff", ada)
    await server.services.access.administration.set_disabled(ada["id"], True)
    body = {"schemas": [USER], "userName": "ada", "displayName": "Ada L.", "active": True}
    assert (await sent(scim, "PUT", f"Users/{ada['id']}", body))["displayName"] == "Ada L."
    assert (await page.get("/api/account", headers=ADA)).status == 403


async def test_deleted_user_is_out_and_comes_back_with_the_chats(
    scim: aiohttp.ClientSession, page: aiohttp.ClientSession
) -> None:
    ada = await user(scim, "ada")
    staff = await group(scim, "staff", ada)
    made = await (await page.post("/api/conversations", json={}, headers=ADA)).json()
    await sent(scim, "DELETE", f"Users/{ada['id']}", status=204)
    await sent(scim, "GET", f"Users/{ada['id']}", status=404)
    assert "members" not in await sent(scim, "GET", f"Groups/{staff['id']}")
    assert (await page.get("/api/account", headers=ADA | {"X-Groups": "staff"})).status == 403
    again = await user(scim, "ada")
    await sent(
        scim,
        "PATCH",
        f"Groups/{staff['id']}",
        patch({"op": "add", "path": "members", "value": [{"value": again["id"]}]}),
    )
    assert (await page.get(f"/api/conversations/{made['id']}", headers=ADA)).status == 200


async def test_users_are_found_by_name_and_by_page(scim: aiohttp.ClientSession) -> None:
    for number in range(5):
        await user(scim, f"person-{number}", externalId=f"x{number}", title="Dr" if number % 2 else "Mx")
    queries = {
        'userName eq "PERSON-3"': ["person-3"],
        'externalId eq "x4"': ["person-4"],
        'externalId eq "X4"': [],
        'title eq "dr"': ["person-1", "person-3"],
        'userName sw "person" and not (title eq "Dr")': ["person-0", "person-2", "person-4"],
        'userName eq "person-1\\" or userName pr or \\""': [],
    }
    for query, names in queries.items():
        async with scim.get("Users", params={"filter": query}) as response:
            found = await response.json(content_type=None)
        assert sorted(each["userName"] for each in found.get("Resources", [])) == names, query
        assert found["totalResults"] == len(names)
    pages = [await sent(scim, "GET", f"Users?startIndex={start}&count=2") for start in (1, 3, 5, 7)]
    assert [len(each.get("Resources", [])) for each in pages] == [2, 2, 1, 0]
    assert {each["totalResults"] for each in pages} == {5}
    assert len({each["id"] for found in pages for each in found.get("Resources", [])}) == 5
    bad = await sent(scim, "GET", "Users?filter=userName%20eq", status=400)
    assert bad["scimType"] == "invalidFilter"


async def test_conflicts_and_wrong_members_are_refused(scim: aiohttp.ClientSession) -> None:
    ada = await user(scim, "ada", externalId="1")
    twin = await sent(scim, "POST", "Users", {"schemas": [USER], "userName": "ADA"}, 409)
    assert twin["scimType"] == "uniqueness"
    staff = await group(scim, "staff", ada)
    body: dict[str, Any] = {"schemas": [GROUP], "displayName": "Staff"}
    assert (await sent(scim, "POST", "Groups", body, 409))["scimType"] == "uniqueness"
    for member in ({"value": "nobody"}, {"value": staff["id"], "type": "Group"}):
        body = {"schemas": [GROUP], "displayName": "crew", "members": [member]}
        assert (await sent(scim, "POST", "Groups", body, 400))["scimType"] == "invalidValue"
    version = staff["meta"]["version"]
    rename = {"schemas": [GROUP], "displayName": "crew"}
    await sent(scim, "PUT", f"Groups/{staff['id']}", rename, **{"If-Match": version})
    await sent(scim, "PUT", f"Groups/{staff['id']}", rename, 412, **{"If-Match": version})


async def test_requests_without_the_token_are_refused(server: RunningServer[ReplayEngine]) -> None:
    _, key = await server.services.access.administration.create_key("root", "root", "admin")
    for token in ("", "wrong", TOKEN[:-1], key):
        async with provider(server.url, token) as stranger:
            for method, path in (("GET", "Users"), ("POST", "Users"), ("GET", "ServiceProviderConfig"), ("GET", "x")):
                async with stranger.request(method, path, json={}) as response:
                    assert response.status == 401
                    assert response.headers["WWW-Authenticate"].startswith("Bearer")
    async with api_client(server.url, TOKEN) as client:
        assert (await client.get("/api/admin/people")).status == 401, "the token is no key"


async def test_password_of_a_user_is_not_stored(
    server: RunningServer[ReplayEngine], scim: aiohttp.ClientSession
) -> None:
    made = await user(scim, "ada", password="grey gulls")
    assert "password" not in made
    [stored] = await server.services.store.provisioning.users()
    assert "gulls" not in stored.body


async def test_server_without_provisioning_has_no_such_path(tmp_path: Path) -> None:
    async with (
        running_server(tmp_path, ReplayEngine(), auth_policy="always") as server,
        provider(server.url) as scim,
        scim.get("Users") as response,
    ):
        assert response.status == 404


async def test_login_keeps_groups_of_a_provisioned_person(
    server: RunningServer[ReplayEngine], scim: aiohttp.ClientSession, page: aiohttp.ClientSession
) -> None:
    ada = await user(scim, "ada")
    await group(scim, "staff", ada)
    await read(page, "/api/login")
    for groups in ("ops", "ops,staff", ""):
        await page.get("/api/account", headers=ADA | {"X-Groups": groups})
        [person] = await server.services.store.people.all()
        assert (person.identity.groups, person.provisioned) == (("staff",), True)
