"""Passwords: logins, changes, second factors, and attacks on them."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from app.access.authentication import COOKIE
from app.accounts.accounts import Accounts
from app.accounts.failed_logins import FAILURES_PER_MINUTE, FREE_FAILURES
from app.accounts.known_browsers import COOKIE as BROWSER_COOKIE
from app.accounts.passwords import Passwords
from app.accounts.rules import GroupRules
from app.accounts.second_factor import STEP_SECONDS
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.conversations_client import created, error_of, read
from tests.second_factor_device import code_at

CHOSEN = "twelve grey gulls"
FACTOR = "/api/account/second-factor"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RunningServer[ReplayEngine]]:
    accounts = Accounts(rules=GroupRules(admits_own=True), passwords=Passwords(memory_kib=64))
    async with running_server(tmp_path, ReplayEngine(), auth_policy="always", accounts=accounts) as server:
        yield server


@pytest.fixture
async def page(server: RunningServer[ReplayEngine]) -> AsyncIterator[aiohttp.ClientSession]:
    async with api_client(server.url) as page:
        yield page


async def person(server: RunningServer[ReplayEngine], name: str, *, admin: bool = False) -> str:
    """Create a person and return the initial password."""
    return (await server.services.access.password_logins.add(name, admin=admin))[1]


async def log_in(page: aiohttp.ClientSession, name: str, password: str, code: str = "") -> aiohttp.ClientResponse:
    return await page.post("/api/login/password", json={"name": name, "password": password, "code": code})


async def enrolled(page: aiohttp.ClientSession, password: str) -> tuple[str, list[str]]:
    """Set up a second factor. Return its secret and the recovery codes."""
    secret = (await (await page.post(FACTOR, json={"password": password})).json())["secret"]
    response = await page.put(FACTOR, json={"code": code_at(secret, time.time())})
    assert response.status == 200, await response.text()
    return secret, (await response.json())["codes"]


async def test_people_log_in_and_see_their_own_chats_only(server: RunningServer[ReplayEngine]) -> None:
    passwords = {name: await person(server, name) for name in ("Ada", "bob")}
    async with api_client(server.url) as ada, api_client(server.url) as bob:
        response = await log_in(ada, "ADA", passwords["Ada"])
        assert (await response.json())["principal"]["name"] == "Ada"
        assert response.cookies[COOKIE]["httponly"]
        await log_in(bob, "bob", passwords["bob"])
        conversation = await created(ada)
        assert (await bob.get(f"/api/conversations/{conversation}")).status == 404
        account = await read(ada, "/api/account")
        assert (account["name"], account["scope"]) == ("Ada", "user")
        assert account["password"] == {"is_initial": True, "second_factor": False}
        await ada.post("/api/logout")
        assert (await ada.get("/api/account")).status == 401


async def test_administrator_makes_no_key_to_a_persons_chats(
    server: RunningServer[ReplayEngine], page: aiohttp.ClientSession
) -> None:
    await log_in(page, "ada", await person(server, "ada"))
    tenant = (await read(page, "/api/account"))["tenant"]
    person_id = (await server.services.store.people.all())[0].id
    _, key = await server.services.access.administration.create_key("root", "root", "admin")
    async with api_client(server.url, key) as root:
        for disabled in (False, True):
            assert (await root.patch(f"/api/admin/people/{person_id}", json={"disabled": disabled})).status == 200
            for body in ({"name": "backup", "tenant": tenant}, {"name": tenant}, {"name": tenant, "scope": "admin"}):
                error = await error_of(await root.post("/api/admin/keys", json=body), 409)
                assert (error["code"], error["param"]) == ("tenant_of_person", "tenant")
    assert [each.tenant for each in await server.services.store.keys.all()] == ["root"]


async def test_person_still_makes_own_keys(server: RunningServer[ReplayEngine], page: aiohttp.ClientSession) -> None:
    await log_in(page, "ada", await person(server, "ada"))
    made = await (await page.post("/api/account/keys", json={"name": "laptop"})).json()
    async with api_client(server.url, made["key"]) as laptop:
        assert (await read(laptop, "/api/account"))["tenant"] == made["tenant"]


async def test_reset_password_is_logged_with_its_administrator(
    server: RunningServer[ReplayEngine], caplog: pytest.LogCaptureFixture
) -> None:
    await person(server, "ada")
    person_id = (await server.services.store.people.all())[0].id
    made, key = await server.services.access.administration.create_key("root", "root", "admin")
    async with api_client(server.url, key) as root:
        assert (await root.post(f"/api/admin/people/{person_id}/password")).status == 200
    [line] = [each.getMessage() for each in caplog.records if "password of the person" in each.getMessage()]
    assert person_id in line
    assert made.id in line


async def test_wrong_name_and_wrong_password_look_alike(
    server: RunningServer[ReplayEngine], page: aiohttp.ClientSession
) -> None:
    await person(server, "ada")
    errors = [await error_of(await log_in(page, name, "wrong"), 401) for name in ("ada", "nobody")]
    assert errors[0] == errors[1]
    assert errors[0]["code"] == "wrong_password"
    assert (await read(page, "/api/login"))["principal"] is None


async def test_guesses_are_slowed_down_for_one_name_only(
    server: RunningServer[ReplayEngine], page: aiohttp.ClientSession
) -> None:
    ada, bob = await person(server, "ada"), await person(server, "bob")
    for _ in range(FREE_FAILURES):
        await error_of(await log_in(page, "ada", "wrong"), 401)
    response = await log_in(page, "Ada", ada)
    assert int(response.headers["Retry-After"]) in (1, 2)
    assert (await error_of(response, 429))["code"] == "too_many_failed_logins"
    assert (await log_in(page, "bob", bob)).status == 200


async def test_passwords_tried_at_once_count_like_one_after_the_other(
    server: RunningServer[ReplayEngine], page: aiohttp.ClientSession
) -> None:
    await person(server, "ada")
    responses = await asyncio.gather(*(log_in(page, "ada", f"guess {each}") for each in range(40)))
    assert Counter(response.status for response in responses) == {401: FREE_FAILURES, 429: 40 - FREE_FAILURES}


async def test_strangers_lock_no_person_out(server: RunningServer[ReplayEngine], page: aiohttp.ClientSession) -> None:
    password = await person(server, "ada")
    login = await log_in(page, "ada", password)
    assert (login.cookies[BROWSER_COOKIE]["path"], login.cookies[BROWSER_COOKIE]["httponly"]) == (
        "/api/login/password",
        True,
    )
    async with api_client(server.url) as stranger:
        # More than an address may fail, with her name and with names of no person.
        for each in range(FAILURES_PER_MINUTE):
            name = "ada" if each < FREE_FAILURES else f"made-up-{each}"
            assert (await log_in(stranger, name, "wrong")).status == 401
        assert (await log_in(stranger, "ada", password)).status == 429
        assert (await log_in(stranger, "yet-another", "wrong")).status == 429
        # Behind a proxy on this machine, addresses are those that the proxy names.
        elsewhere = await stranger.post(
            "/api/login/password",
            json={"name": "ada", "password": password},
            headers={"X-Forwarded-For": "192.0.2.1"},
        )
        assert elsewhere.status == 200
    body = {"old_password": password, "new_password": CHOSEN}
    assert (await page.put("/api/account/password", json=body)).status == 204
    await page.post("/api/logout")
    assert (await log_in(page, "Ada", CHOSEN)).status == 200, "her browser is known"


async def test_known_browser_is_slowed_down_as_well(
    server: RunningServer[ReplayEngine], page: aiohttp.ClientSession
) -> None:
    password = await person(server, "ada")
    await log_in(page, "ada", password)
    for _ in range(FREE_FAILURES):
        assert (await log_in(page, "ada", "wrong")).status == 401
    assert (await log_in(page, "ada", password)).status == 429


async def test_flood_of_logins_from_one_address_leaves_room_for_others(
    server: RunningServer[ReplayEngine], page: aiohttp.ClientSession
) -> None:
    password = await person(server, "boss")
    async with api_client(server.url) as flooding:
        flood = [asyncio.create_task(log_in(flooding, f"made-up-{each}", "wrong")) for each in range(40)]
        response = await page.post(
            "/api/login/password",
            json={"name": "boss", "password": password},
            headers={"X-Forwarded-For": "192.0.2.1"},
        )
        assert response.status == 200
        assert {(await each).status for each in flood} == {401, 429}


async def test_stolen_login_sets_up_no_second_factor(
    server: RunningServer[ReplayEngine], page: aiohttp.ClientSession
) -> None:
    password = await person(server, "ada")
    await log_in(page, "ada", password)
    assert (await page.post(FACTOR)).status == 400
    for _ in range(FREE_FAILURES):
        error = await error_of(await page.post(FACTOR, json={"password": "wrong"}), 400)
        assert (error["code"], error["param"]) == ("wrong_password", "password")
    assert (await page.post(FACTOR, json={"password": password})).status == 429
    assert (await page.put(FACTOR, json={"code": "000000"})).status == 400
    assert (await read(page, "/api/account"))["password"]["second_factor"] is False
    async with api_client(server.url) as another:
        assert (await log_in(another, "ada", password)).status == 200


async def test_changed_password_ends_other_logins(
    server: RunningServer[ReplayEngine], page: aiohttp.ClientSession
) -> None:
    initial = await person(server, "ada")
    await log_in(page, "ada", initial)
    async with api_client(server.url) as phone:
        await log_in(phone, "ada", initial)
        for old, new, param in ((initial, "short", "new_password"), ("wrong", CHOSEN, "old_password")):
            body = {"old_password": old, "new_password": new}
            assert (await error_of(await page.put("/api/account/password", json=body), 400))["param"] == param
        body = {"old_password": initial, "new_password": CHOSEN}
        assert (await page.put("/api/account/password", json=body)).status == 204
        assert (await read(page, "/api/account"))["password"]["is_initial"] is False
        assert (await phone.get("/api/account")).status == 401
        assert (await log_in(phone, "ada", initial)).status == 401
        assert (await log_in(phone, "ada", CHOSEN)).status == 200


async def test_second_factor_is_required_and_each_code_works_once(
    server: RunningServer[ReplayEngine], page: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The clock stands still, so that no code expires during the test.
    now = time.time()
    monkeypatch.setattr("app.accounts.second_factor.time.time", lambda: now)
    password = await person(server, "ada")
    await log_in(page, "ada", password)
    secret, recovery = await enrolled(page, password)
    assert (await read(page, "/api/account"))["password"]["second_factor"] is True
    assert len(set(recovery)) == 10
    await page.post("/api/logout")

    async def attempt(code: str) -> Any:
        response = await log_in(page, "ada", password, code)
        return (await response.json())["error"]["code"] if response.status != 200 else "in"

    following = code_at(secret, now + STEP_SECONDS)
    assert await attempt("") == "second_factor_needed"
    assert await attempt(code_at(secret, now)) == "wrong_code", "the code that confirmed it was used"
    assert await attempt(code_at(secret, now - 10 * STEP_SECONDS)) == "wrong_code"
    assert await attempt(following) == "in"
    assert await attempt(following) == "wrong_code"
    assert await attempt(recovery[0].upper().replace("-", " ")) == "in"
    assert await attempt(recovery[0]) == "wrong_code"
    refused = await page.post(FACTOR, json={"password": password})
    assert (await error_of(refused, 409))["code"] == "second_factor_exists"
    removal = f"{FACTOR}/removal"
    assert (await error_of(await page.post(removal, json={"password": "wrong"}), 400))["param"] == "password"
    assert (await page.post(removal, json={"password": password})).status == 204
    assert await attempt("") == "in"


async def test_unconfirmed_second_factor_is_not_required(
    server: RunningServer[ReplayEngine], page: aiohttp.ClientSession
) -> None:
    password = await person(server, "ada")
    await log_in(page, "ada", password)
    factor = await (await page.post(FACTOR, json={"password": password})).json()
    assert factor["uri"].startswith("otpauth://totp/Ebb:ada?")
    wrong = await page.put(FACTOR, json={"code": "abc"})
    assert (await error_of(wrong, 400))["param"] == "code"
    assert (await log_in(page, "ada", password)).status == 200


async def test_administrators_add_people_and_reset_passwords(
    server: RunningServer[ReplayEngine], page: aiohttp.ClientSession
) -> None:
    await log_in(page, "root", await person(server, "root", admin=True))
    made = await (await page.post("/api/admin/people", json={"name": "ada"})).json()
    assert (made["scope"], made["issuer"]) == ("user", "ebb")
    assert made["last_seen_at"] is None
    error = await error_of(await page.post("/api/admin/people", json={"name": "Ada"}), 409)
    assert (error["code"], error["param"]) == ("person_exists", "name")
    async with api_client(server.url) as ada:
        assert (await log_in(ada, "ada", made["password"])).status == 200
        _, seen = (await read(page, "/api/admin/people"))["data"]
        assert seen["last_seen_at"] > seen["created_at"]
        assert (await ada.post("/api/admin/people", json={"name": "eve"})).status == 403
        await enrolled(ada, made["password"])
        reset = await (await page.post(f"/api/admin/people/{made['id']}/password")).json()
        assert (await ada.get("/api/account")).status == 401
        assert (await log_in(ada, "ada", made["password"])).status == 401
        assert (await log_in(ada, "ada", reset["password"])).status == 200
        await page.patch(f"/api/admin/people/{made['id']}", json={"disabled": True})
        assert (await ada.get("/api/account")).status == 401
        assert (await error_of(await log_in(ada, "ada", reset["password"]), 403))["code"] == "login_refused"


async def test_administrators_change_roles_but_not_their_own(
    server: RunningServer[ReplayEngine], page: aiohttp.ClientSession
) -> None:
    await log_in(page, "root", await person(server, "root", admin=True))
    made = await (await page.post("/api/admin/people", json={"name": "ada"})).json()
    path = f"/api/admin/people/{made['id']}"
    async with api_client(server.url) as ada:
        await log_in(ada, "ada", made["password"])
        changed = await (await page.patch(path, json={"admin": True})).json()
        assert (changed["scope"], changed["disabled_at"]) == ("admin", None)
        people = (await read(ada, "/api/admin/people"))["data"]
        [root] = [each for each in people if each["name"] == "root"]
        refused = await page.patch(f"/api/admin/people/{root['id']}", json={"admin": False})
        assert (await error_of(refused, 409))["code"] == "own_account"
        assert (await (await page.patch(path, json={"admin": False})).json())["scope"] == "user"
        assert (await ada.get("/api/admin/people")).status == 403
    assert (await error_of(await page.patch(path, json={}), 400))["param"] == "disabled"
    unknown = await page.patch("/api/admin/people/none", json={"admin": True})
    assert (await error_of(unknown, 404))["code"] == "person_not_found"


async def test_foreign_page_cannot_log_a_browser_in(
    server: RunningServer[ReplayEngine], page: aiohttp.ClientSession
) -> None:
    password = await person(server, "ada")
    response = await page.post(
        "/api/login/password",
        json={"name": "ada", "password": password},
        headers={"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
    )
    assert response.status == 403
    assert COOKIE not in response.cookies


async def test_passwords_work_only_where_they_are_turned_on(tmp_path: Path) -> None:
    async with (
        running_server(tmp_path, ReplayEngine(), auth_policy="always") as server,
        api_client(server.url) as page,
    ):
        password = await person(server, "ada")
        assert (await read(page, "/api/login"))["passwords"] is False
        assert (await error_of(await log_in(page, "ada", password), 404))["code"] == "no_passwords"
