"""Answers of login providers: SAML and OpenID Connect, and what logins with a password send."""

import asyncio
import base64
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from app.accounts.attempts import AttemptSealer
from app.accounts.provider import OidcClient, OidcProvider, _groups
from app.accounts.rules import GroupRules
from app.accounts.saml.identity_provider import IdentityProvider, read_metadata
from app.accounts.saml.response import SUCCESS, verified_assertion
from app.accounts.saml.service import SamlService
from app.accounts.saml.xml import DS, SAMLP
from app.accounts.second_factor import new_secret, recovery_digest, step_of
from app.tenants.person import Identity
from tests.cost_rows import MOST_GROWTH, CostRow, for_each, growth, repeated
from tests.saml_provider import ISSUER, LOGIN_URL, SamlKeys
from tests.sizes import Size

SAML_SERVICE: Final = SamlService("https://chat.example/login/saml", "https://chat.example/login/saml")
EXCLUSIVE: Final = "http://www.w3.org/2001/10/xml-exc-c14n#"
INCLUSIVE: Final = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"
SEALER: Final = AttemptSealer(b"secret")


def saml_answer(size: int, method: str) -> str:
    """Return an unsigned answer that asks for the canonicalization of many elements with many namespaces."""
    names = "".join(f' xmlns:n{i}="urn:n{i}"' for i in range(size))
    reference = (
        f'<ds:Reference URI="#r"><ds:Transforms><ds:Transform Algorithm="{method}"/></ds:Transforms>'
        '<ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/>'
        "<ds:DigestValue>AAAA</ds:DigestValue></ds:Reference>"
    )
    document = (
        f'<samlp:Response xmlns:samlp="{SAMLP}" xmlns:ds="{DS}" ID="r"><samlp:Status><samlp:StatusCode '
        f'Value="{SUCCESS}"/></samlp:Status><ds:Signature><ds:SignedInfo><ds:CanonicalizationMethod '
        f'Algorithm="{method}"><ds:Object{names}>{"<ds:Object/>" * (2 * size)}</ds:Object></ds:CanonicalizationMethod>'
        f'<ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/>{reference}'
        "</ds:SignedInfo><ds:SignatureValue>AAAA</ds:SignatureValue></ds:Signature></samlp:Response>"
    )
    return base64.b64encode(document.encode()).decode()


@cache
def saml_provider() -> IdentityProvider:
    return IdentityProvider(ISSUER, LOGIN_URL, [SamlKeys().certificate])


def read_saml(text: str) -> object:
    return verified_assertion(text, saml_provider(), SAML_SERVICE, 0.0)


def posted(document: str) -> str:
    return base64.b64encode(document.encode()).decode()


def response_of(part: str) -> Callable[[int], str]:
    """Return a maker of unsigned responses with many of `part`."""
    make = repeated(part, f'<samlp:Response xmlns:samlp="{SAMLP}">', "</samlp:Response>")
    return lambda size: posted(make(size))


@cache
def oidc_key() -> RSAKey:
    return RSAKey.generate_key(2048)


def id_token(claims: Callable[[int], dict[str, Any]]) -> Callable[[int], str]:
    """Return a maker of signed tokens, whose claims grow."""
    return lambda size: jwt.encode({"alg": "RS256"}, claims(size), oidc_key())


def keys_of_a_provider(size: int) -> dict[str, Any]:
    key = oidc_key().as_dict(private=False)
    return {"keys": [{**key, "kid": str(each)} for each in range(size)]}


def apply_rules(groups: Sequence[str]) -> None:
    rules = GroupRules({"a1": "user"}, {"a2": {"open_requests": 1}}, rights={"a3": frozenset({"export"})})
    person = Identity("issuer", "subject", "name", "mail", tuple(groups))
    rules.role_of(person), rules.rights_of(person), rules.limits_of(person.groups)


def read_id_token(token: str) -> object:
    provider = OidcProvider(
        OidcClient(
            issuer="https://login.example",
            client_id="ebb",
            secret="",
            scopes="openid",
            groups_claim="groups",
            redirect_uri="",
            home="",
        )
    )
    provider._keys = KeySet([oidc_key()])
    return asyncio.run(provider._verified({"id_token": token}, "nonce"))


ROWS: Final = (
    CostRow("SAML answer with inclusive canonicalization", lambda n: saml_answer(n, INCLUSIVE), read_saml, 150, 1_000),
    CostRow("SAML answer with exclusive canonicalization", lambda n: saml_answer(n, EXCLUSIVE), read_saml, 150, 1_000),
    CostRow("SAML answer of elements", response_of("<a/>"), read_saml, 1_000, 16_000),
    CostRow("SAML answer of opened elements", response_of("<a>"), read_saml, 60, 16_000),
    CostRow("SAML answer of comments", response_of("<!--a-->"), read_saml, 1_000, 16_000),
    CostRow(
        "SAML answer of attributes",
        lambda n: posted("<a " + "".join(f"a{i}='' " for i in range(n)) + "/>"),
        read_saml,
        500,
        8_000,
    ),
    CostRow(
        "form of an answer", repeated("SAMLResponse=A&"), lambda text: parse_qs(text, max_num_fields=8), 4_000, 64_000
    ),
    CostRow("SAML answer of spaces", repeated("A \n"), read_saml, 4_000, 32_000),
    CostRow("ID token of many groups", id_token(lambda n: {"groups": ["a"] * n}), read_id_token, 2_000, 32_000),
    CostRow(
        "ID token of many claims", id_token(lambda n: {f"a{i}": 1 for i in range(n)}), read_id_token, 1_000, 16_000
    ),
    CostRow("ID token of a long subject", id_token(lambda n: {"sub": "a" * n}), read_id_token, 16_000, 250_000),
    CostRow("ID token of dots", repeated("."), read_id_token, 4_000, 64_000),
    CostRow("keys of a provider", keys_of_a_provider, KeySet.import_key_set, 20, 250),
    CostRow("groups of a person", lambda n: [f"a{i}" for i in range(n)], apply_rules, 1_000, 16_000),
    CostRow("path to the groups", repeated("a."), lambda path: _groups({}, path), 2_000, 32_000),
    CostRow("cookie of a begun login", repeated("gAAA"), lambda text: SEALER.open(text, "state"), 4_000, 64_000),
    CostRow("code of a second factor", repeated("1"), lambda code: step_of(new_secret(), code), 4_000, 64_000),
    CostRow("recovery code", repeated("- "), recovery_digest, 4_000, 64_000),
)


@for_each(ROWS)
def test_cost_grows_in_proportion_to_input(row: CostRow, size: Size) -> None:
    assert growth(row, size.pick(small=row.size, full=row.full)) <= MOST_GROWTH


METADATA: Final = (
    ("addresses", '<md:SingleSignOnService Binding="a" Location="b"/>'),
    (
        "certificates",
        "<md:KeyDescriptor><ds:KeyInfo><ds:X509Data><ds:X509Certificate>A A</ds:X509Certificate>"
        "</ds:X509Data></ds:KeyInfo></md:KeyDescriptor>",
    ),
    ("opened elements", "<a>"),
)
"""Names of the parts of a provider's metadata, and the parts."""


@pytest.mark.parametrize(("name", "part"), METADATA, ids=[name for name, _ in METADATA])
def test_cost_of_metadata_grows_in_proportion_to_its_size(tmp_path: Path, size: Size, name: str, part: str) -> None:
    spaces = f'xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" xmlns:ds="{DS}"'
    before = f'<md:EntityDescriptor {spaces} entityID="a"><md:IDPSSODescriptor>'
    make = repeated(part, before, "</md:IDPSSODescriptor></md:EntityDescriptor>")

    def read(text: str) -> None:
        (tmp_path / "metadata.xml").write_text(text)
        read_metadata(tmp_path / "metadata.xml")

    row = CostRow(f"metadata of {name}", make, read, 250, 4_000)
    assert growth(row, size.pick(small=row.size, full=row.full)) <= MOST_GROWTH
