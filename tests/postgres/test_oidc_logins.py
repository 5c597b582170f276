"""A login at an OpenID provider through two servers of one database, which share the requests of the browser."""

import json
from collections.abc import AsyncIterator, Iterator
from http.cookies import SimpleCookie
from pathlib import Path

import aiohttp
import pytest

from app.access.authentication import COOKIE
from app.accounts.accounts import Accounts
from app.accounts.provider import OidcClient, OidcProvider
from app.accounts.rules import GroupRules
from app.routes.login import ATTEMPT_COOKIE
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import running_server
from tests.oidc_provider import oidc_provider

HOME = "https://chat.example/"
SECRET = bytes(32)


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with oidc_provider(json.dumps({"sub": "ada", "name": "Ada", "groups": ["staff"]})) as url:
        yield url


@pytest.fixture
async def urls(issuer: str, tmp_path: Path) -> AsyncIterator[tuple[str, str]]:
    """Start two servers with one database and one secret."""

    def accounts() -> Accounts:
        client = OidcClient(
            issuer=issuer,
            client_id="ebb",
            secret="s3cret",
            scopes="openid profile email",
            groups_claim="groups",
            redirect_uri=f"{HOME}login/callback",
            home=HOME,
        )
        return Accounts(provider=OidcProvider(client), rules=GroupRules({"staff": "user"}), secret=SECRET)

    async with (
        running_server(tmp_path, ReplayEngine(), auth_policy="always", accounts=accounts()) as first,
        running_server(tmp_path, ReplayEngine(), auth_policy="always", accounts=accounts()) as second,
    ):
        yield first.url, second.url


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield session


async def begin(session: aiohttp.ClientSession, url: str) -> tuple[str, str]:
    """Begin a login, and return its cookie and what the provider sends back through the browser."""
    async with session.post(f"{url}/api/login/start", json={}) as begun:
        attempt, address = begun.cookies[ATTEMPT_COOKIE].value, (await begun.json())["url"]
    async with session.post(address, data={"sub": "ada"}, allow_redirects=False) as form:
        return attempt, form.headers["Location"].partition("?")[2]


async def complete(session: aiohttp.ClientSession, url: str, attempt: str, query: str) -> tuple[str, SimpleCookie]:
    """Complete a login, and return where the browser ends up, and with which cookies."""
    headers = {"Cookie": f"{ATTEMPT_COOKIE}={attempt}"}
    async with session.get(f"{url}/login/callback?{query}", headers=headers, allow_redirects=False) as completed:
        return completed.headers["Location"], completed.cookies


@pytest.mark.parametrize("turns", [(0, 0), (0, 1)])
async def test_login_is_completed_at_any_server_and_holds_at_all(
    urls: tuple[str, str], session: aiohttp.ClientSession, turns: tuple[int, int]
) -> None:
    end, cookies = await complete(session, urls[turns[1]], *await begin(session, urls[turns[0]]))
    assert end == "/"
    for url in urls:
        headers = {"Cookie": f"{COOKIE}={cookies[COOKIE].value}"}
        async with session.get(f"{url}/api/account", headers=headers) as response:
            assert (await response.json())["name"] == "Ada"


async def test_answer_of_the_provider_is_accepted_once_by_all_servers(
    urls: tuple[str, str], session: aiohttp.ClientSession
) -> None:
    first, second = urls
    attempt, query = await begin(session, first)
    assert (await complete(session, first, attempt, query))[0] == "/"
    end, cookies = await complete(session, second, attempt, query)
    assert end.startswith("/?login=")
    assert COOKIE not in cookies
