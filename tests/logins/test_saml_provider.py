"""Logins at a real SAML provider: pysaml2, which reads the metadata of this server and signs with xmlsec."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
from cryptography.hazmat.primitives import serialization

from app.accounts.accounts import Accounts
from app.accounts.rules import GroupRules
from app.accounts.saml.identity_provider import read_metadata
from app.accounts.saml.provider import SamlPlan, SamlProvider
from app.accounts.saml.service import SamlService
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.conversations_client import read
from tests.saml_provider import SamlKeys

SERVICE = SamlService("https://chat.example/login/saml", "https://chat.example/login/saml")
TRANSIENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
SHA1 = "http://www.w3.org/2000/09/xmldsig#sha1"
RSA_SHA1 = "http://www.w3.org/2000/09/xmldsig#rsa-sha1"
RSA_SHA512 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha512"
SHA512 = "http://www.w3.org/2001/04/xmlenc#sha512"
Respond = Callable[[str, dict[str, Any]], str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, keys, pem = tmp_path_factory.mktemp("saml"), SamlKeys(), serialization.Encoding.PEM
    (folder / "idp.pem").write_bytes(keys.pem)
    key = keys.key.private_bytes(pem, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
    (folder / "idp.key").write_bytes(key)
    (folder / "service.xml").write_bytes(SERVICE.metadata())
    return folder


@pytest.fixture(scope="module")
def respond(folder: Path) -> Iterator[Respond]:
    """Run the provider, and yield its answer to a request."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.logins.pysaml2_provider", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        stdin, stdout = process.stdin, process.stdout

        def respond(request: str, how: dict[str, Any]) -> str:
            stdin.write(json.dumps({"request": request, "how": how}) + "\n")
            stdin.flush()
            return stdout.readline().strip()

        yield respond


@pytest.fixture
async def server(respond: Respond, folder: Path, tmp_path: Path) -> AsyncIterator[RunningServer[ReplayEngine]]:
    saml = SamlProvider(SamlPlan(read_metadata(folder / "idp.xml"), SERVICE))
    accounts = Accounts(rules=GroupRules({"staff": "user", "ops": "admin"}), saml=saml)
    async with running_server(tmp_path, ReplayEngine(), auth_policy="always", accounts=accounts) as server:
        yield server


async def logged_in(page: aiohttp.ClientSession, respond: Respond, how: dict[str, Any]) -> str:
    """Log in as a browser does, and return where it ends up."""
    url = (await (await page.post("/api/login/start", json={})).json())["url"]
    [request] = parse_qs(urlsplit(url).query)["SAMLRequest"]
    form = {"SAMLResponse": respond(request, how)}
    foreign = {"Origin": "https://login.example", "Sec-Fetch-Site": "cross-site"}
    posted = await page.post("/login/saml", data=form, headers=foreign, allow_redirects=False)
    location = posted.headers["Location"]
    if not location.startswith("/login/callback"):
        return location
    return (await page.get(location, allow_redirects=False)).headers["Location"]


SIGNED: tuple[dict[str, Any], ...] = (
    {},
    {"sign_assertion": False, "sign_response": True},
    {"sign_response": True},
    {"sign_alg": RSA_SHA512, "digest_alg": SHA512},
)


@pytest.mark.parametrize("how", SIGNED)
async def test_person_logs_in(server: RunningServer[ReplayEngine], respond: Respond, how: dict[str, Any]) -> None:
    async with api_client(server.url) as page:
        assert await logged_in(page, respond, how) == "/"
        account = await read(page, "/api/account")
        assert (account["name"], account["email"], account["scope"]) == ("Ada", "ada@example.org", "user")
        [person] = server.services.access.ring.people.by_id.values()
        assert (person.identity.issuer, person.identity.subject) == ("https://login.example/idp", "ada-1")


@pytest.mark.parametrize(
    "how", [{"sign_assertion": False}, {"format": TRANSIENT}, {"sign_alg": RSA_SHA1}, {"digest_alg": SHA1}]
)
async def test_weak_answer_is_refused(
    server: RunningServer[ReplayEngine], respond: Respond, how: dict[str, Any]
) -> None:
    async with api_client(server.url) as page:
        assert await logged_in(page, respond, how) == "/?login=failed"
        assert (await page.get("/api/account")).status == 401
