"""A login at a SAML provider through two servers of one database, each of which gets some of the browser's requests."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from http.cookies import SimpleCookie
from pathlib import Path

import aiohttp
import pytest

from app.access.authentication import COOKIE
from app.accounts.accounts import Accounts
from app.accounts.rules import GroupRules
from app.accounts.saml.identity_provider import read_metadata
from app.accounts.saml.provider import SamlPlan, SamlProvider
from app.accounts.saml.service import SamlService
from app.routes.login import ATTEMPT_COOKIE
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import running_server
from tests.saml_provider import Answer, SamlKeys, posted, request_of, response

KEYS = SamlKeys()
SERVICE = SamlService("https://chat.example/login/saml", "https://chat.example/login/saml")
SECRET = bytes(32)


@dataclass(slots=True)
class Browser:
    """A browser whose requests a proxy spreads over the servers."""

    session: aiohttp.ClientSession
    attempt: str = ""

    async def begin(self, url: str) -> Answer:
        """Begin a login, and return the provider's answer to it."""
        async with self.session.post(f"{url}/api/login/start", json={}) as begun:
            self.attempt = begun.cookies[ATTEMPT_COOKIE].value
            return Answer(request_of((await begun.json())["url"]).get("ID"), SERVICE.answer_url)

    async def bring(self, url: str, answer: Answer) -> str:
        """Bring a signed answer, and return the path at which the login is completed."""
        form = posted(response(answer, KEYS))
        async with self.session.post(f"{url}/login/saml", data=form, allow_redirects=False) as brought:
            return brought.headers["Location"]

    async def complete(self, url: str, path: str) -> tuple[str, SimpleCookie]:
        """Complete the login, and return where the browser ends up, and with which cookies."""
        headers = {"Cookie": f"{ATTEMPT_COOKIE}={self.attempt}"}
        async with self.session.get(f"{url}{path}", headers=headers, allow_redirects=False) as completed:
            return completed.headers["Location"], completed.cookies


@pytest.fixture
async def urls(tmp_path: Path) -> AsyncIterator[tuple[str, str]]:
    """Start two servers with one database and one secret."""
    (tmp_path / "metadata.xml").write_text(KEYS.metadata())

    def accounts() -> Accounts:
        saml = SamlProvider(SamlPlan(read_metadata(tmp_path / "metadata.xml"), SERVICE))
        return Accounts(rules=GroupRules({"staff": "user"}), saml=saml, secret=SECRET)

    async with (
        running_server(tmp_path, ReplayEngine(), auth_policy="always", accounts=accounts()) as first,
        running_server(tmp_path, ReplayEngine(), auth_policy="always", accounts=accounts()) as second,
    ):
        yield first.url, second.url


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield Browser(session)


@pytest.mark.parametrize("turns", [(0, 0, 1), (0, 1, 0), (0, 1, 1)])
async def test_login_is_completed_at_any_server(
    urls: tuple[str, str], browser: Browser, turns: tuple[int, int, int]
) -> None:
    begin, bring, complete = (urls[turn] for turn in turns)
    path = await browser.bring(bring, await browser.begin(begin))
    end, cookies = await browser.complete(complete, path)
    assert (end, COOKIE in cookies) == ("/", True)


async def test_answer_is_accepted_once_by_all_servers(urls: tuple[str, str], browser: Browser) -> None:
    first, second = urls
    answer = await browser.begin(first)
    path = await browser.bring(first, answer)
    assert await browser.bring(second, answer) == "/?login=expired"
    assert (await browser.complete(first, path))[0] == "/"
    end, cookies = await browser.complete(second, path)
    assert (end, COOKIE in cookies) == ("/?login=expired", False)
