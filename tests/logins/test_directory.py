"""People of a real directory: their logins, groups and rights, and attacks on them."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from app.accounts.accounts import Accounts, accounts_of
from app.accounts.directory import Directory, DirectoryPlan
from app.accounts.errors import DirectoryUnusableError
from app.accounts.failed_logins import FAILURES_PER_MINUTE, FREE_FAILURES
from app.accounts.passwords import Passwords
from app.accounts.rules import GroupRules
from app.config.options import SettingsError
from app.config.settings import load_settings
from app.doctor.directory_check import check_directory
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.conversations_client import created, error_of, read
from tests.logins.slapd import GROUPS_BASE, PEOPLE_BASE, SEARCH_PASSWORD, SEARCHER, Slapd, running_slapd

RULES = GroupRules({"staff": "user", "ops": "admin"}, {"staff": {"concurrent_runs": 2}}, admits_own=True)


@pytest.fixture(scope="module")
def slapd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slapd]:
    with running_slapd(tmp_path_factory.mktemp("slapd")) as slapd:
        yield slapd


@pytest.fixture
def plan(slapd: Slapd) -> DirectoryPlan:
    return DirectoryPlan(
        url=slapd.tls,
        people_base=PEOPLE_BASE,
        groups_base=GROUPS_BASE,
        bind_dn=SEARCHER,
        bind_password=SEARCH_PASSWORD,
        ca_file=slapd.files.authority,
    )


@pytest.fixture
async def server(plan: DirectoryPlan, tmp_path: Path) -> AsyncIterator[RunningServer[ReplayEngine]]:
    accounts = Accounts(directory=Directory(plan), rules=RULES, passwords=Passwords(memory_kib=64))
    async with running_server(tmp_path, ReplayEngine(), auth_policy="always", accounts=accounts) as server:
        yield server


@pytest.fixture
async def page(server: RunningServer[ReplayEngine]) -> AsyncIterator[aiohttp.ClientSession]:
    async with api_client(server.url) as page:
        yield page


async def log_in(page: aiohttp.ClientSession, name: str, password: str | None = None) -> aiohttp.ClientResponse:
    known = f"grey gulls of {name.lower()}" if password is None else password
    return await page.post("/api/login/password", json={"name": name, "password": known})


async def test_two_people_log_in_and_see_their_own_chats_only(server: RunningServer[ReplayEngine]) -> None:
    async with api_client(server.url) as ada, api_client(server.url) as root:
        assert (await read(ada, "/api/login"))["directory"] is True
        assert (await (await log_in(ada, "ADA")).json())["principal"]["name"] == "Ada"
        assert (await log_in(root, "root")).status == 200
        conversation = await created(ada)
        assert (await root.get(f"/api/conversations/{conversation}")).status == 404
        account = await read(ada, "/api/account")
        assert (account["name"], account["email"], account["password"]) == ("Ada", "ada@example.org", None)
        assert account["limits"]["concurrent_runs"] == 2
        people = {person["name"]: person for person in (await read(root, "/api/admin/people"))["data"]}
        assert {name: (who["scope"], who["groups"]) for name, who in people.items()} == {
            "Ada": ("user", ["staff"]),
            "Root": ("admin", ["ops", "staff"]),
        }, "a club of the same name is no group"
        # The same person in another browser.
        async with api_client(server.url) as phone:
            await log_in(phone, "ada")
            assert (await phone.get(f"/api/conversations/{conversation}")).status == 200


async def test_person_in_no_group_may_not_log_in(page: aiohttp.ClientSession) -> None:
    assert (await error_of(await log_in(page, "eve"), 403))["code"] == "login_refused"
    assert (await page.get("/api/conversations")).status == 401


async def test_wrong_name_and_wrong_password_look_alike(page: aiohttp.ClientSession) -> None:
    errors = [await error_of(await log_in(page, name, "wrong"), 401) for name in ("ada", "nobody")]
    assert errors[0] == errors[1]
    assert errors[0]["code"] == "wrong_password"


@pytest.mark.parametrize("password", ["", "\0", "grey gulls of ada\0"])
async def test_empty_password_is_no_anonymous_login(page: aiohttp.ClientSession, password: str) -> None:
    assert (await error_of(await log_in(page, "ada", password), 401))["code"] == "wrong_password"


@pytest.mark.parametrize("name", ["*", "ad*", "ada)(uid=*", "*)(|(uid=*", "ada\\2a", "ada\0", "(ada)", PEOPLE_BASE])
async def test_name_cannot_change_the_filter(page: aiohttp.ClientSession, name: str) -> None:
    assert (await error_of(await log_in(page, name, "grey gulls of ada"), 401))["code"] == "wrong_password"


async def test_name_of_two_entries_belongs_to_neither(plan: DirectoryPlan) -> None:
    directory = Directory(replace(plan, people_filter="(|(uid={name})(mail={name}))"))
    assert directory.find("shared@example.org") is None
    found = directory.find("ada@example.org")
    assert found is not None
    assert found == directory.find("ada")
    assert found.dn == f"uid=ada,{PEOPLE_BASE}"


async def test_spellings_of_a_name_share_the_delay(page: aiohttp.ClientSession) -> None:
    # The directory takes all of these for the same name.
    for spelling in ("ada", "ADA", " ada", "ada ", "  Ada  ")[:FREE_FAILURES]:
        await error_of(await log_in(page, spelling, "wrong"), 401)
    response = await log_in(page, "aDa  ", "grey gulls of ada")
    assert int(response.headers["Retry-After"]) in (1, 2)
    assert (await error_of(response, 429))["code"] == "too_many_failed_logins"
    assert (await log_in(page, "root")).status == 200


async def test_made_up_names_do_not_lift_a_delay(page: aiohttp.ClientSession) -> None:
    for _ in range(FREE_FAILURES):
        await error_of(await log_in(page, "ada", "wrong"), 401)
    statuses = [(await log_in(page, f"made-up-{each}", "wrong")).status for each in range(FAILURES_PER_MINUTE)]
    assert statuses == [401] * (FAILURES_PER_MINUTE - FREE_FAILURES) + [429] * FREE_FAILURES
    assert (await log_in(page, "ada")).status == 429
    elsewhere = {"X-Forwarded-For": "192.0.2.1"}
    body = {"name": "ada", "password": "grey gulls of ada"}
    assert (await page.post("/api/login/password", json=body, headers=elsewhere)).status == 200


async def test_password_of_this_server_comes_first(
    server: RunningServer[ReplayEngine], page: aiohttp.ClientSession
) -> None:
    _, password = await server.services.access.password_logins.add("root", admin=True)
    assert (await error_of(await log_in(page, "root"), 401))["code"] == "wrong_password"
    assert (await log_in(page, "root", password)).status == 200
    assert (await read(page, "/api/account"))["password"] == {"is_initial": True, "second_factor": False}


async def test_disabled_person_cannot_log_in(server: RunningServer[ReplayEngine], page: aiohttp.ClientSession) -> None:
    await log_in(page, "ada")
    [person] = server.services.access.ring.people.by_id.values()
    await server.services.access.administration.set_disabled(person.id, True)
    assert (await page.get("/api/account")).status == 401
    assert (await error_of(await log_in(page, "ada"), 403))["code"] == "login_refused"


def test_start_tls_protects_a_connection_to_another_machine(slapd: Slapd, plan: DirectoryPlan) -> None:
    found = Directory(replace(plan, url=slapd.start_tls)).find("ada")
    assert found is not None
    assert found.identity.groups == ("staff",)


@pytest.mark.parametrize("scheme", ["tls", "start_tls"])
def test_certificate_of_unknown_authority_is_refused(slapd: Slapd, plan: DirectoryPlan, scheme: str) -> None:
    # libldap reads its configuration once in a process, and it cannot turn the check off.
    code = (
        "import sys; from app.accounts.directory import Directory, DirectoryPlan; "
        f"Directory(DirectoryPlan(url=sys.argv[1], people_base={PEOPLE_BASE!r}, bind_dn={SEARCHER!r}, "
        f"bind_password={SEARCH_PASSWORD!r})).find('ada')"
    )
    command = [sys.executable, "-c", code, getattr(slapd, scheme)]
    environ = os.environ | {"LDAPTLS_REQCERT": "never"}
    result = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 1
    assert "DirectoryUnusableError" in result.stderr


def test_certificate_of_another_name_is_refused(slapd: Slapd, plan: DirectoryPlan) -> None:
    with pytest.raises(DirectoryUnusableError):
        Directory(replace(plan, url=slapd.tls.replace("localhost", "127.0.0.1"))).find("ada")


async def test_silent_directory_delays_no_other_login(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        accounts = Accounts(directory=Directory(plan_of(silent)), rules=RULES, passwords=Passwords(memory_kib=64))
        async with (
            running_server(tmp_path, ReplayEngine(), auth_policy="always", accounts=accounts) as server,
            api_client(server.url) as page,
        ):
            waiting = asyncio.create_task(log_in(page, "ada"))
            with (await asyncio.to_thread(silent.accept))[0]:
                _, password = await server.services.access.password_logins.add("root", admin=True)
                assert (await log_in(page, "root", password)).status == 200
                assert not waiting.done()
            error = await error_of(await waiting, 503)
            assert error["code"] == "login_provider_unavailable"
            assert "127.0.0.1" not in error["message"], "the address of the directory is for the operator alone"


def test_silent_directory_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.accounts.directory.ANSWER_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(DirectoryUnusableError):
        Directory(plan_of(silent)).find("ada")


def plan_of(silent: socket.socket) -> DirectoryPlan:
    return DirectoryPlan(url=f"ldap://127.0.0.1:{silent.getsockname()[1]}", people_base=PEOPLE_BASE)


DIRECTORY = {"ldap-url": "ldaps://directory.example", "ldap-people-base": PEOPLE_BASE}


@pytest.mark.parametrize(
    ("flags", "missing"),
    [
        ({"ldap-url": "ldaps://directory.example"}, "ldap-people-base"),
        (DIRECTORY | {"login-groups": "staff=user"}, "ldap-groups-base"),
        (DIRECTORY | {"ldap-bind-dn": SEARCHER}, "ldap-bind-password-file"),
        (DIRECTORY | {"ldap-bind-dn": SEARCHER, "ldap-bind-password-file": "/nowhere"}, "ldap-bind-password-file"),
        (DIRECTORY | {"ldap-ca-file": "/nowhere"}, "ldap-ca-file"),
    ],
)
def test_incomplete_settings_name_the_one_at_fault(flags: dict[str, str], missing: str) -> None:
    with pytest.raises(SettingsError) as refused:
        accounts_of(load_settings(flags, environ={"HOME": "/home/ann"}))
    assert refused.value.param == missing


def test_doctor_searches_as_a_login_does(slapd: Slapd, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SEARCH_PASSWORD)
    flags = {
        "ldap-url": slapd.tls,
        "ldap-people-base": PEOPLE_BASE,
        "ldap-bind-dn": SEARCHER,
        "ldap-bind-password-file": str(secret),
        "ldap-ca-file": str(slapd.files.authority),
    }
    settings = load_settings(flags, environ={"HOME": str(tmp_path)})
    assert accounts_of(settings).directory is not None
    assert check_directory(settings).level == "ok"
    secret.write_text("wrong")
    finding = check_directory(settings)
    assert (finding.level, "Invalid credentials" in finding.text) == ("warn", True)
