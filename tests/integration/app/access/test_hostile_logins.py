"""Logins at a provider, attacked: each must end without a session, and an honest one must work afterwards."""

import base64
import hmac
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey
from yarl import URL

from app.access.authentication import COOKIE
from app.accounts.accounts import Accounts
from app.accounts.provider import OidcClient, OidcProvider
from app.accounts.rules import GroupRules
from app.routes.login import ATTEMPT_COOKIE
from engine.testing.replay_engine import ReplayEngine
from tests.hostile_provider import Claims, HostileProvider, hostile_provider
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.conversations_client import error_of, read


@dataclass(frozen=True)
class Site:
    provider: HostileProvider
    server: RunningServer[ReplayEngine]
    page: aiohttp.ClientSession

    async def begin(self, path: str = "/") -> str:
        """Begin a login and return the address of the provider."""
        response = await self.page.post("/api/login/start", json={"next": path})
        assert response.status == 200, await response.text()
        url: str = (await response.json())["url"]
        return url

    async def come_back(self, query: dict[str, str], **headers: str) -> aiohttp.ClientResponse:
        return await self.page.get("/login/callback", params=query, headers=headers, allow_redirects=False)

    async def logged_in_as(self) -> Any:
        return (await read(self.page, "/api/login"))["principal"]


def accounts_at(provider: HostileProvider, rules: GroupRules | None = None) -> Accounts:
    home = "http://127.0.0.1:1"
    client = OidcClient(
        issuer=provider.issuer,
        client_id="ebb",
        secret="s3cret",
        scopes="openid profile",
        groups_claim="groups",
        redirect_uri=f"{home}/login/callback",
        home=f"{home}/",
    )
    return Accounts(provider=OidcProvider(client), rules=rules or GroupRules({"staff": "user", "ops": "admin"}))


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with (
        hostile_provider() as provider,
        running_server(tmp_path, ReplayEngine(), auth_policy="always", accounts=accounts_at(provider)) as server,
        api_client(server.url) as page,
    ):
        yield Site(provider, server, page)


async def refused(site: Site, query: dict[str, str], code: str) -> None:
    response = await site.come_back(query)
    assert (response.status, response.headers["Location"]) == (303, f"/?login={code}")
    assert COOKIE not in response.cookies
    assert await site.logged_in_as() is None
    assert (await site.server.services.store.access.read()).sessions == {}


async def test_honest_login_uses_pkce_and_returns_to_the_page(site: Site) -> None:
    url = await site.begin("/c/abc?at=def")
    asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    assert asked["code_challenge_method"] == "S256"
    assert min(len(asked[name]) for name in ("state", "nonce", "code_challenge")) >= 43
    response = await site.come_back(site.provider.answer_to(url), **{"Sec-Fetch-Site": "cross-site"})
    assert (response.status, response.headers["Location"]) == (303, "/c/abc?at=def")
    cookie = response.cookies[COOKIE]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "strict", "/")
    assert response.cookies[ATTEMPT_COOKIE]["max-age"] == "0"
    [exchange] = site.provider.exchanged
    assert exchange["code_verifier"] not in url
    principal = await site.logged_in_as()
    assert (principal["name"], principal["scope"], principal["key_id"]) == ("Ada", "user", None)


async def test_forged_state_and_answers_without_attempt_fail(site: Site) -> None:
    answer = site.provider.answer_to(await site.begin())
    await refused(site, answer | {"state": "forged"}, "expired")
    # The first refusal has ended the attempt, so that nothing can be guessed twice.
    await refused(site, answer, "expired")
    site.page.cookie_jar.update_cookies({ATTEMPT_COOKIE: "forged"})
    await refused(site, answer, "expired")
    assert site.provider.exchanged == []


async def test_answer_to_another_browser_is_refused(site: Site) -> None:
    theirs = site.provider.answer_to(await site.begin())
    async with api_client(site.server.url) as attacked:
        assert (await attacked.post("/api/login/start", json={})).status == 200
        response = await attacked.get("/login/callback", params=theirs, allow_redirects=False)
        assert response.headers["Location"] == "/?login=expired"
        assert (await read(attacked, "/api/login"))["principal"] is None


async def test_replayed_code_makes_no_second_login(site: Site) -> None:
    answer = site.provider.answer_to(await site.begin())
    sealed = site.page.cookie_jar.filter_cookies(URL(f"{site.server.url}/login/callback"))[ATTEMPT_COOKIE].value
    assert (await site.come_back(answer)).headers["Location"] == "/"
    site.page.cookie_jar.clear()
    again = await site.come_back(answer, Cookie=f"{ATTEMPT_COOKIE}={sealed}")
    assert (again.headers["Location"], COOKIE in again.cookies) == ("/?login=expired", False)
    assert len((await site.server.services.store.access.read()).sessions) == 1


def with_claim(name: str, value: object) -> Callable[[Claims], Claims]:
    return lambda claims: {**claims, name: value}


def without_claim(name: str) -> Callable[[Claims], Claims]:
    return lambda claims: {key: value for key, value in claims.items() if key != name}


LONG_AGO, LATER = time.time() - 3600, time.time() + 3600
SPOILED = {
    "another nonce": with_claim("nonce", "another"),
    "no nonce": without_claim("nonce"),
    "another issuer": with_claim("iss", "https://evil.example"),
    "another audience": with_claim("aud", "another-app"),
    "audience with another party": with_claim("aud", ["ebb", "another-app"]),
    "issued to another party": with_claim("azp", "another-app"),
    "expired": with_claim("exp", LONG_AGO),
    "no expiry": without_claim("exp"),
    "issued in the future": with_claim("iat", LATER),
    "not valid yet": with_claim("nbf", LATER),
    "no person": without_claim("sub"),
    "person that is no text": with_claim("sub", ["ada"]),
    "another access token": with_claim("at_hash", "wrong"),
}


@pytest.mark.parametrize("spoiled", SPOILED)
async def test_token_with_wrong_claim_makes_no_login(site: Site, spoiled: str) -> None:
    site.provider.spoil = SPOILED[spoiled]
    await refused(site, site.provider.answer_to(await site.begin()), "failed")


def forged(claims: Claims, algorithm: str, secret: bytes = b"") -> str:
    """Encode a token as no library would: unsigned, or signed with a public key as if it were a shared secret."""
    parts = [json.dumps({"alg": algorithm, "kid": "first"}), json.dumps(claims)]
    signed = ".".join(base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts)
    signature = hmac.digest(secret, signed.encode(), "sha256") if secret else b""
    return f"{signed}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


async def test_token_with_wrong_signature_makes_no_login(site: Site) -> None:
    public = site.provider.key.as_pem(private=False)
    stranger = RSAKey.generate_key(2048, parameters={"kid": "first"})
    ways: dict[str, Callable[[Claims], str]] = {
        "none": lambda claims: forged(claims, "none"),
        "HS256": lambda claims: forged(claims, "HS256", public),
        "stranger": lambda claims: jwt.encode({"alg": "RS256", "kid": "first"}, claims, stranger),
        "cut": lambda claims: site.provider.signed(claims)[:-6],
        "no token": lambda _: "x",
    }
    for sign in ways.values():
        site.provider.sign = sign
        await refused(site, site.provider.answer_to(await site.begin()), "failed")


async def test_clocks_may_differ_by_a_minute(site: Site) -> None:
    site.provider.spoil = lambda claims: {**claims, "iat": time.time() + 40, "exp": time.time() - 40}
    assert (await site.come_back(site.provider.answer_to(await site.begin()))).headers["Location"] == "/"


async def test_answer_of_a_mixed_up_issuer_is_refused(site: Site) -> None:
    answer = site.provider.answer_to(await site.begin())
    await refused(site, answer | {"iss": "https://evil.example"}, "failed")
    assert site.provider.exchanged == []
    answer = site.provider.answer_to(await site.begin())
    assert (await site.come_back(answer | {"iss": site.provider.issuer})).headers["Location"] == "/"


async def test_missing_issuer_is_refused_where_the_provider_names_it(site: Site) -> None:
    site.provider.metadata["authorization_response_iss_parameter_supported"] = True
    await refused(site, site.provider.answer_to(await site.begin()), "failed")


async def test_changed_key_of_the_provider_is_read_again(site: Site) -> None:
    assert (await site.come_back(site.provider.answer_to(await site.begin()))).headers["Location"] == "/"
    site.provider.key = RSAKey.generate_key(2048, parameters={"kid": "second"})
    assert (await site.come_back(site.provider.answer_to(await site.begin()))).headers["Location"] == "/"


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example",
        "/\\evil.example",
        "https://evil.example",
        "/\t/evil.example",
        "javascript:1",
        "",
        "/a//b",
        "/%0d",
    ],
)
async def test_login_returns_only_to_paths_of_the_page(site: Site, path: str) -> None:
    response = await site.page.post("/api/login/start", json={"next": path})
    assert (await error_of(response, 400))["param"] == "next"


async def test_other_origins_begin_no_login(site: Site) -> None:
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert (await site.page.post("/api/login/start", json={}, headers=headers)).status == 403


async def test_cookie_from_before_a_login_is_never_its_session(site: Site) -> None:
    site.page.cookie_jar.update_cookies({COOKIE: "planted"})
    response = await site.come_back(site.provider.answer_to(await site.begin()))
    assert response.cookies[COOKIE].value != "planted"
    site.page.cookie_jar.clear()
    planted = await site.page.get("/api/conversations", headers={"Cookie": f"{COOKIE}=planted"})
    assert planted.status == 401


async def test_person_in_no_admitted_group_is_refused(site: Site) -> None:
    assert (await site.come_back(site.provider.answer_to(await site.begin()))).headers["Location"] == "/"
    assert await site.logged_in_as() is not None
    site.provider.spoil = with_claim("groups", ["visitors"])
    response = await site.come_back(site.provider.answer_to(await site.begin()))
    assert response.headers["Location"] == "/?login=groups"
    # The login from before ends as well, since the groups are those of the person.
    assert await site.logged_in_as() is None


async def test_refused_login_at_the_provider_is_reported(site: Site) -> None:
    answer = site.provider.answer_to(await site.begin())
    await refused(site, {"error": "access_denied", "state": answer["state"]}, "denied")


async def test_provider_that_is_down_leaves_keys_working(site: Site) -> None:
    url = await site.begin()
    # Answers of a login that began before.
    site.provider.nonces.clear()
    await refused(site, site.provider.answer_to(url, "unknown") | {"code": "gone"}, "expired")
    away = OidcProvider(
        OidcClient(
            issuer="http://127.0.0.1:1",
            client_id="ebb",
            secret="",
            scopes="openid",
            groups_claim="groups",
            redirect_uri="",
            home="",
        )
    )
    object.__setattr__(site.server.services.access.accounts, "provider", away)
    response = await site.page.post("/api/login/start", json={})
    error = await error_of(response, 503)
    assert error["code"] == "login_provider_unavailable"
    assert "Log in with a key" in error["message"]
    _, key = await site.server.services.access.administration.create_key("alice", "alice", "user")
    assert (await site.page.get("/api/conversations", headers={"X-Api-Key": key})).status == 200
