"""People of a SAML provider: their logins, and attacks on the responses."""

import base64
import copy
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from lxml import etree

from app.access.authentication import COOKIE
from app.accounts.accounts import Accounts
from app.accounts.login_turns import LoginLine
from app.accounts.rules import GroupRules
from app.accounts.saml.identity_provider import read_metadata
from app.accounts.saml.provider import SamlPlan, SamlProvider
from app.accounts.saml.service import SamlService
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.conversations_client import created, read
from tests.saml_provider import (
    DS,
    ISSUER,
    LOGIN_URL,
    SAML,
    Answer,
    SamlKeys,
    changed,
    other,
    posted,
    request_of,
    response,
)

SERVICE = SamlService("https://chat.example/login/saml", "https://chat.example/login/saml")
RULES = GroupRules({"staff": "user", "ops": "admin"})


@pytest.fixture(scope="module")
def keys() -> SamlKeys:
    return SamlKeys()


@pytest.fixture(scope="module")
def strangers() -> SamlKeys:
    return SamlKeys()


@pytest.fixture
async def server(keys: SamlKeys, tmp_path: Path) -> AsyncIterator[RunningServer[ReplayEngine]]:
    (tmp_path / "metadata.xml").write_text(keys.metadata())
    provider = SamlProvider(SamlPlan(read_metadata(tmp_path / "metadata.xml"), SERVICE))
    accounts = Accounts(rules=RULES, saml=provider)
    async with running_server(tmp_path, ReplayEngine(), auth_policy="always", accounts=accounts) as server:
        yield server


@pytest.fixture
async def page(server: RunningServer[ReplayEngine]) -> AsyncIterator[aiohttp.ClientSession]:
    async with api_client(server.url) as page:
        yield page


async def begun(page: aiohttp.ClientSession, path: str = "/") -> Answer:
    """Begin a login, and return the contents of a good answer to it."""
    url = (await (await page.post("/api/login/start", json={"next": path})).json())["url"]
    assert url.startswith(f"{LOGIN_URL}?")
    return Answer(request_of(url).get("ID"), SERVICE.answer_url)


async def brought(server: RunningServer[ReplayEngine], page: aiohttp.ClientSession, element: Any) -> str:
    """Have the browser bring a response from the provider's page, and return where it ends up."""
    foreign = {"Origin": "https://login.example", "Sec-Fetch-Site": "cross-site"}
    # The browser sends no cookie with a POST of another site.
    async with (
        aiohttp.ClientSession(server.url) as elsewhere,
        elsewhere.post("/login/saml", data=posted(element), headers=foreign, allow_redirects=False) as answered,
    ):
        assert answered.status == 303, await answered.text()
        location = answered.headers["Location"]
    if not location.startswith("/login/callback?"):
        return location
    return (await page.get(location, allow_redirects=False)).headers["Location"]


async def test_two_people_log_in_and_see_their_own_chats_only(
    server: RunningServer[ReplayEngine], keys: SamlKeys
) -> None:
    async with api_client(server.url) as ada, api_client(server.url) as root:
        assert (await read(ada, "/api/login"))["provider"] == "login.example"
        assert await brought(server, ada, response(await begun(ada, "/c/x?at=y"), keys)) == "/c/x?at=y"
        groups = {"groups": ("staff", "ops"), "cn": ("Root",)}
        answer = other(await begun(root), name="root-1", id="_a2", attributes=groups)
        assert await brought(server, root, response(answer, keys)) == "/"
        conversation = await created(ada)
        assert (await root.get(f"/api/conversations/{conversation}")).status == 404
        account = await read(ada, "/api/account")
        assert (account["name"], account["email"], account["scope"]) == ("Ada", "ada@example.org", "user")
        people = {person["name"]: person for person in (await read(root, "/api/admin/people"))["data"]}
        assert (people["Root"]["scope"], people["Root"]["issuer"]) == ("admin", ISSUER)


@pytest.mark.parametrize("signed", [{}, {"whole": True}, {"both": True}])
async def test_signature_may_cover_response_or_assertion(
    server: RunningServer[ReplayEngine], page: aiohttp.ClientSession, keys: SamlKeys, signed: dict[str, bool]
) -> None:
    assert await brought(server, page, response(await begun(page), keys, **signed)) == "/"


async def test_request_and_metadata_describe_this_server(page: aiohttp.ClientSession) -> None:
    url = (await (await page.post("/api/login/start", json={})).json())["url"]
    request = request_of(url)
    assert request.get("AssertionConsumerServiceURL") == SERVICE.answer_url
    assert request.findtext(f"{SAML}Issuer") == SERVICE.entity_id
    async with page.get("/login/saml/metadata") as answered:
        root = etree.fromstring(await answered.read())
    assert root.get("entityID") == SERVICE.entity_id
    assert [each.get("Location") for each in root.iter("{*}AssertionConsumerService")] == [SERVICE.answer_url]


WRONG: dict[str, dict[str, Any]] = {
    "audience": {"audience": "https://other.example"},
    "recipient": {"recipient": "https://other.example/login/saml"},
    "destination": {"destination": "https://other.example/login/saml"},
    "issuer": {"issuer": "https://evil.example"},
    "expired": {"ends": -61.0},
    "expired for its bearer": {"confirmed_until": -61.0},
    "too early": {"begins": 90.0},
    "failed at the provider": {"status": "urn:oasis:names:tc:SAML:2.0:status:Responder"},
    "name that changes": {"name_format": "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"},
    "no name": {"name": ""},
    "begun at the provider": {"request_id": ""},
    "another request": {"request_id": "_other"},
}


@pytest.mark.parametrize("case", WRONG)
async def test_signed_answer_to_another_question_is_refused(
    server: RunningServer[ReplayEngine], page: aiohttp.ClientSession, keys: SamlKeys, case: str
) -> None:
    location = await brought(server, page, response(other(await begun(page), **WRONG[case]), keys))
    assert location in ("/?login=failed", "/?login=expired")
    assert (await page.get("/api/account")).status == 401


def forged(answer: Answer) -> Any:
    """Return an unsigned assertion that makes its bearer an administrator."""
    return response(other(answer, name="root-1", id="_evil", attributes={"groups": ("ops",)})).find(f"{SAML}Assertion")


def first(root: Any, assertion: Any) -> None:
    root.insert(2, assertion)


def last(root: Any, assertion: Any) -> None:
    root.append(assertion)


def inside_signature(root: Any, assertion: Any) -> None:
    """Hide the signed assertion in the signature of the forged one."""
    signed = root.find(f"{SAML}Assertion")
    root.remove(signed)
    signature = signed.find(f"{DS}Signature")
    signed.remove(signature)
    etree.SubElement(signature, f"{DS}Object").append(signed)
    assertion.insert(1, signature)
    root.append(assertion)


def around(root: Any, assertion: Any) -> None:
    """Make the signed assertion a part of the forged one."""
    signed = root.find(f"{SAML}Assertion")
    root.remove(signed)
    assertion.append(signed)
    root.append(assertion)


def with_the_same_id(root: Any, assertion: Any) -> None:
    assertion.set("ID", root.find(f"{SAML}Assertion").get("ID"))
    root.insert(2, assertion)


def with_a_copied_signature(root: Any, assertion: Any) -> None:
    signed = root.find(f"{SAML}Assertion")
    assertion.insert(1, copy.deepcopy(signed.find(f"{DS}Signature")))
    root.replace(signed, assertion)


def other_groups(root: Any, assertion: Any) -> None:
    root.find(f".//{SAML}AttributeStatement/{SAML}Attribute[@Name='groups']/{SAML}AttributeValue").text = "ops"


def comment_in_name(root: Any, assertion: Any) -> None:
    name = root.find(f".//{SAML}NameID")
    name.text = "root-1"
    comment = etree.Comment("x")
    comment.tail = "ada-1"
    name.append(comment)


def unsigned(root: Any, assertion: Any) -> None:
    signed = root.find(f"{SAML}Assertion")
    signed.remove(signed.find(f"{DS}Signature"))


FORGERIES: tuple[Callable[[Any, Any], None], ...] = (
    first,
    last,
    inside_signature,
    around,
    with_the_same_id,
    with_a_copied_signature,
    other_groups,
    comment_in_name,
    unsigned,
)


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
@pytest.mark.parametrize("whole", [False, True])
async def test_forged_assertion_is_refused(
    server: RunningServer[ReplayEngine],
    page: aiohttp.ClientSession,
    keys: SamlKeys,
    forge: Callable[[Any, Any], None],
    whole: bool,
) -> None:
    answer = await begun(page)
    genuine = response(answer, keys, both=whole)
    element = changed(genuine, lambda root: forge(root, forged(answer)))
    assert await brought(server, page, element) == "/?login=failed"
    assert (await page.get("/api/account")).status == 401


async def test_comment_in_a_signed_name_does_not_shorten_it(
    server: RunningServer[ReplayEngine], page: aiohttp.ClientSession, keys: SamlKeys
) -> None:
    answer = other(await begun(page), name="root-1.evil.example")
    root = response(answer, keys)

    def split(root: Any) -> None:
        name = root.find(f".//{SAML}NameID")
        name.text = "root-1"
        comment = etree.Comment("x")
        comment.tail = ".evil.example"
        name.append(comment)

    # Comments are not signed, so the answer is valid, with the whole name.
    assert await brought(server, page, changed(root, split)) == "/"
    [person] = server.services.access.ring.people.by_id.values()
    assert person.identity.subject == "root-1.evil.example"


async def test_key_of_a_stranger_is_refused(
    server: RunningServer[ReplayEngine], page: aiohttp.ClientSession, keys: SamlKeys, strangers: SamlKeys
) -> None:
    for whole in (False, True):
        assert await brought(server, page, response(await begun(page), strangers, whole=whole)) == "/?login=failed"


async def test_answer_works_once_and_in_one_browser(
    server: RunningServer[ReplayEngine], page: aiohttp.ClientSession, keys: SamlKeys
) -> None:
    answer = await begun(page)
    element = response(answer, keys)
    async with api_client(server.url) as thief:
        await begun(thief)
        assert await brought(server, thief, element) == "/?login=expired"
    assert await brought(server, page, element) == "/?login=expired", "a stolen answer is used up"
    element = response(other(await begun(page), id="_a3"), keys)
    assert await brought(server, page, element) == "/"
    assert await brought(server, page, element) == "/?login=expired"


async def test_kept_answer_ends_with_its_first_use(
    server: RunningServer[ReplayEngine], page: aiohttp.ClientSession, keys: SamlKeys
) -> None:
    logins = server.services.access.saml_logins
    assert logins is not None
    answer = await begun(page)
    parameters = await logins.receive(posted(response(answer, keys))["SAMLResponse"], LoginLine("browser"))
    [attempt] = [cookie for cookie in page.cookie_jar if cookie.key == "ebb_login_attempt"]
    cookie = {"Cookie": f"ebb_login_attempt={attempt.value}"}
    first = await page.get("/login/callback", params=parameters, headers=cookie, allow_redirects=False)
    assert (first.headers["Location"], COOKIE in first.cookies) == ("/", True)
    again = await page.get("/login/callback", params=parameters, headers=cookie, allow_redirects=False)
    assert (again.headers["Location"], COOKIE in again.cookies) == ("/?login=expired", False)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"<x/>",
        b"<x",
        b"\xff\xfe",
        b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]><x>&e;</x>',
        b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><x>&b;</x>',
        b"<x>" * 300,
    ],
)
async def test_malformed_documents_are_refused(page: aiohttp.ClientSession, text: bytes) -> None:
    form = {"SAMLResponse": base64.b64encode(text).decode()}
    async with page.post("/login/saml", data=form, allow_redirects=False) as answered:
        assert (answered.status, answered.headers["Location"]) == (303, "/?login=failed")


@pytest.mark.parametrize("whole", [True, False])
async def test_signature_without_exclusive_form_is_refused(
    server: RunningServer[ReplayEngine], page: aiohttp.ClientSession, keys: SamlKeys, *, whole: bool
) -> None:
    answer = await begun(page)

    def name_inclusive(element: Any) -> None:
        for method in element.iter(f"{DS}CanonicalizationMethod", f"{DS}Transform"):
            method.set("Algorithm", "http://www.w3.org/2006/12/xml-c14n11")

    element = changed(response(answer, keys, whole=whole), name_inclusive)
    assert await brought(server, page, element) == "/?login=failed"


async def test_namespaces_on_each_value_are_accepted(
    server: RunningServer[ReplayEngine], page: aiohttp.ClientSession, keys: SamlKeys
) -> None:
    answer = await begun(page)
    many = {"displayName": ("Ada",), "groups": ("staff", *(f"group-{i}" for i in range(150)))}
    element = response(other(answer, attributes=many))
    for value in element.iter(f"{SAML}AttributeValue"):
        value.set("{http://www.w3.org/2001/XMLSchema-instance}type", "xs:string")
    # The assertion declares the namespace on each value, as some providers write it.
    text = etree.tostring(element).decode().replace("xsi:type=", 'xmlns:xs="urn:xs" xsi:type=')
    root = etree.fromstring(text)
    assertion = root.find(f"{SAML}Assertion")
    root.replace(assertion, keys.signed(assertion, answer.id))
    assert await brought(server, page, root) == "/"


async def test_refused_answer_writes_a_short_log_line(
    page: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    answer = Answer("_q", "https://elsewhere.example/" + "x" * 40_000)
    async with page.post("/login/saml", data=posted(response(answer)), allow_redirects=False) as answered:
        assert answered.headers["Location"] == "/?login=failed"
    [line] = [record.getMessage() for record in caplog.records if "a login was refused" in record.getMessage()]
    assert len(line) < 1_000


async def test_server_without_saml_takes_no_answers(tmp_path: Path) -> None:
    async with (
        running_server(tmp_path, ReplayEngine(), auth_policy="always") as server,
        api_client(server.url) as page,
    ):
        assert (await page.post("/login/saml", data={"SAMLResponse": "x"})).status == 404
        assert (await page.get("/login/saml/metadata")).status == 404
