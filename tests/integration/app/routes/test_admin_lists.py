"""Lists of administrators: pages, and a search that knows the case of all letters."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.tenants.limits import TenantLimits
from app.tenants.person import Identity
from tests.integration.conversations_client import error_of, read
from tests.integration.tenants import People, serving_people
from tests.many_accounts import add_accounts

ELODIE = Identity("https://login.example", "e1", "Élodie Größe", "elodie@example.org")


@pytest.fixture
async def people(tmp_path: Path) -> AsyncIterator[People]:
    async with serving_people(tmp_path) as found:
        await add_accounts(found.server.services.store, 12)
        await found.server.services.access.ring.read()
        yield found


async def pages(people: People, path: str, limit: int = 5) -> list[list[Any]]:
    """Read all pages of a list."""
    found, cursor = list[list[Any]](), None
    while True:
        following = f"&cursor={cursor}" if cursor is not None else ""
        page = await read(people.root, f"{path}{'&' if '?' in path else '?'}limit={limit}{following}")
        found.append(page["data"])
        cursor = page["next_cursor"]
        if cursor is None:
            return found


@pytest.mark.parametrize(
    ("kind", "field", "count"), [("keys", "id", 15), ("people", "id", 12), ("tenants", "tenant", 15)]
)
async def test_pages_hold_every_row_once(people: People, kind: str, field: str, count: int) -> None:
    whole = (await read(people.root, f"/api/admin/{kind}"))["data"]
    found = await pages(people, f"/api/admin/{kind}")
    assert [len(page) for page in found[:-1]] == [5] * (len(found) - 1)
    assert [row[field] for page in found for row in page] == [row[field] for row in whole]
    assert len({row[field] for row in whole}) == len(whole) == count


async def test_search_ignores_case_in_every_language(people: People) -> None:
    services = people.server.services
    elodie = await services.access.ring.meet(ELODIE)
    await services.access.ring.meet(replace(ELODIE, subject="e2", name="Otto", email="otto@example.org"))
    await services.access.administration.set_limits(elodie.tenant, TenantLimits())
    for query in ("élodie", "GRÖSSE", "ELODIE@", elodie.tenant[-8:].upper()):
        found = await read(people.root, f"/api/admin/people?q={query}")
        assert [person["name"] for person in found["data"]] == [ELODIE.name], query
        tenants = await read(people.root, f"/api/admin/tenants?q={query}")
        assert [(each["tenant"], each["person"]) for each in tenants["data"]] == [(elodie.tenant, ELODIE.name)], query
    assert (await read(people.root, "/api/admin/people?q=nobody"))["data"] == []


async def test_search_has_pages(people: People) -> None:
    found = await pages(people, "/api/admin/keys?q=TEAM-00000", limit=4)
    assert [len(page) for page in found] == [4, 4, 2]
    assert {key["tenant"] for page in found for key in page} == {f"team-{number:06}" for number in range(10)}
    found = await pages(people, "/api/admin/tenants?q=team-00000", limit=4)
    assert [len(page) for page in found] == [4, 4, 2]


async def test_tenant_of_keys_alone_has_no_person(people: People) -> None:
    [alice] = (await read(people.root, "/api/admin/tenants?q=alice"))["data"]
    assert (alice["person"], alice["keys"], alice["conversations"]) == (None, 1, 0)


@pytest.mark.parametrize(
    ("query", "param"), [("limit=0", "limit"), ("limit=501", "limit"), ("cursor=x", "cursor"), (f"q={'x' * 1001}", "q")]
)
@pytest.mark.parametrize("kind", ["keys", "people", "tenants"])
async def test_invalid_parameter_is_named(people: People, kind: str, query: str, param: str) -> None:
    assert (await error_of(await people.root.get(f"/api/admin/{kind}?{query}"), 400))["param"] == param
