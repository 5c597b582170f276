"""Rights of groups: each closes its routes, with a login as with a key, and nothing else."""

from collections.abc import AsyncIterator, Iterable, Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from starlette.routing import BaseRoute, Route

from app.accounts.accounts import Accounts
from app.accounts.proxy_login import ProxyLogin
from app.accounts.rules import GroupRules
from app.domain.rights import RIGHTS, Right
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.conversations_client import created, error_of, read, said

RULES = GroupRules(
    {"staff": "user", "guests": "user", "ops": "admin"},
    default_rights=frozenset({"files"}),
    rights={right: frozenset({right}) for right in RIGHTS},
)
ACCOUNTS = Accounts(proxy=ProxyLogin("x-user", "x-groups", (ip_network("127.0.0.1"),)), rules=RULES)

CALLS: dict[Right, tuple[tuple[str, str, Any], ...]] = {
    "keys": (("POST", "/api/account/keys", {"name": "laptop"}),),
    "share-links": (("POST", "/api/conversations/{chat}/shares", {}),),
    "temporary-chats": (("POST", "/api/conversations", {"temporary": True}),),
    "files": (("POST", "/api/files", {"name": "a.txt", "text": "hi"}), ("POST", "/api/document-text", None)),
    "export": (
        ("GET", "/api/export", None),
        ("GET", "/api/conversations/{chat}/export", None),
        ("POST", "/api/export", {"conversation_ids": []}),
    ),
    "import": (
        ("POST", "/api/import", {"format": "ebb", "conversations": []}),
        ("POST", "/api/import/preview", {"format": "ebb", "conversations": []}),
    ),
}

FEATURES: dict[str, Right] = {
    "keys": "keys",
    "shares": "share-links",
    "files": "files",
    "document-text": "files",
    "export": "export",
    "import": "import",
}
"""Rights by the part of a path that names their feature. `temporary-chats` depends on the body instead."""


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RunningServer[ReplayEngine]]:
    async with running_server(tmp_path, ReplayEngine(), auth_policy="always", accounts=ACCOUNTS) as server:
        yield server


@pytest.fixture
async def page(server: RunningServer[ReplayEngine]) -> AsyncIterator[aiohttp.ClientSession]:
    async with api_client(server.url) as page:
        yield page


def of_groups(*groups: str) -> dict[str, str]:
    return {"X-User": "ada", "X-Groups": ",".join(groups)}


async def refused(page: aiohttp.ClientSession, headers: dict[str, str], chat: str) -> set[Right]:
    """Return the rights without which calls were refused, and check that a refusal names the right."""
    found: set[Right] = set()
    for right, calls in CALLS.items():
        for method, path, body in calls:
            response = await page.request(method, path.replace("{chat}", chat), json=body, headers=headers)
            error = (await response.json()).get("error", {}) if response.status == 403 else {}
            if error.get("code") == "right_required":
                assert f"'{right}'" in error["message"]
                found.add(right)
    return found


def feature_calls(routes: Iterable[BaseRoute]) -> Iterator[tuple[Right, str, str]]:
    """Yield the right, the method and a path of each route that needs a right.

    Without a right, people still list and remove what they have made with it. Reading an export is the feature itself.
    """
    for route in routes:
        parts = route.path.split("/") if isinstance(route, Route) else []
        right = next((FEATURES[part] for part in parts if part in FEATURES), None)
        if not isinstance(route, Route) or right is None or "admin" in parts:
            continue
        path = "/".join("none" if part.startswith("{") else part for part in parts)
        for method in sorted((route.methods or set()) - ({"HEAD"} if right == "export" else {"HEAD", "GET", "DELETE"})):
            yield right, method, path


async def test_each_right_opens_its_own_routes(
    server: RunningServer[ReplayEngine], page: aiohttp.ClientSession
) -> None:
    made = await (await page.post("/api/conversations", json={}, headers=of_groups("staff"))).json()
    closed = set(RIGHTS) - {"files"}
    assert await refused(page, of_groups("staff"), made["id"]) == closed
    assert await refused(page, of_groups("staff", "guests"), made["id"]) == closed
    for right in RIGHTS:
        assert await refused(page, of_groups("staff", right), made["id"]) == closed - {right}
    assert await refused(page, of_groups("staff", "ops"), made["id"]) == set(), "administrators have all rights"
    login = await (await page.get("/api/login", headers=of_groups("staff", "export"))).json()
    assert login["principal"]["rights"] == ["files", "export"]
    people = (await (await page.get("/api/admin/people", headers={"X-User": "root", "X-Groups": "ops"})).json())["data"]
    assert {person["name"]: person["rights"] for person in people} == {"ada": ["files", "export"], "root": list(RIGHTS)}


async def test_every_route_of_a_feature_needs_its_right(tmp_path: Path) -> None:
    rules = GroupRules({"staff": "user"}, default_rights=frozenset(), rights=RULES.rights)
    accounts = Accounts(proxy=ACCOUNTS.proxy, rules=rules)
    found: set[Right] = set()
    async with (
        running_server(tmp_path, ReplayEngine(), auth_policy="always", accounts=accounts) as server,
        api_client(server.url) as page,
    ):
        for right, method, path in feature_calls(server.app.routes):
            headers = of_groups("staff", *(other for other in RIGHTS if other != right))
            error = await error_of(await page.request(method, path, headers=headers), 403)
            assert error["code"] == "right_required", f"{method} {path}"
            found.add(right)
    assert found == set(FEATURES.values())


async def test_key_has_the_rights_of_its_person(
    server: RunningServer[ReplayEngine], page: aiohttp.ClientSession
) -> None:
    headers = of_groups("staff", "keys")
    key = (await (await page.post("/api/account/keys", json={"name": "laptop"}, headers=headers)).json())["key"]
    async with api_client(server.url, key) as client:
        assert (await error_of(await client.get("/api/export"), 403))["code"] == "right_required"
        chat = await created(client)
        server.engine.allow(None)
        await said(client, chat, "hi")
        # The next request of the person changes the groups, and so the rights of the key.
        await page.get("/api/account", headers=of_groups("staff", "export"))
        assert (await client.get("/api/export")).status == 200


async def test_key_of_no_person_has_all_rights(server: RunningServer[ReplayEngine]) -> None:
    _, key = await server.services.access.administration.create_key("robot", "robot", "user")
    async with api_client(server.url, key) as client:
        assert (await client.get("/api/export")).status == 200
        assert (await read(client, "/api/login"))["principal"]["rights"] == list(RIGHTS)
