"""The cost of what strangers send grows in proportion to its size: one row for each parser of the server."""

import base64
import gzip
import zlib
from collections.abc import Callable
from functools import cache, partial
from typing import Final

import pytest
from starlette.datastructures import Headers, QueryParams

from app.access.authentication import COOKIE, shown_key, shown_login
from app.access.host_names import host_name
from app.access.proxies import forwarding_header
from app.accounts.own_path import parse_own_path
from app.accounts.saml.identity_provider import IdentityProvider
from app.accounts.saml.response import SUCCESS, verified_assertion
from app.accounts.saml.service import SamlService
from app.accounts.saml.xml import DS, SAMLP
from app.conversations.imported_files import read_any
from app.conversations.shared_markdown import SharedMarkdown
from app.conversations.shared_page import question
from app.conversations.shared_page_texts import texts_for
from app.http.inflating import Inflation
from app.prompts.volatile_lines import KNOWN_LINES, treat
from app.schemas.json_bounds import check_bounds
from app.storage.postgres.text_index import tsquery
from app.storage.search_words import segmented
from app.storage.snippets import SnippetMaker
from app.storage.sqlite.text_index import match_expression
from engine.grammar.limits import check_form
from engine.structured_output import FormKind, StructuredOutput
from models.chat_format import unused_character
from tests.cost_rows import MOST_GROWTH, CostRow, growth
from tests.saml_provider import ISSUER, LOGIN_URL, SamlKeys
from tests.sizes import Size

SAML_SERVICE: Final = SamlService("https://chat.example/login/saml", "https://chat.example/login/saml")


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


def inflated(body: bytes) -> bytes:
    inflation = Inflation(body, 64 << 20)
    while not inflation.is_done:
        inflation.step()
    return inflation.whole()


def read_saml(text: str) -> object:
    return verified_assertion(text, saml_provider(), SAML_SERVICE, 0.0)


EXCLUSIVE: Final = "http://www.w3.org/2001/10/xml-exc-c14n#"
MARKDOWN: Final = {
    "images": "![",
    "emphasis": "*a **a ",
    "lists": "- a\n",
    "footnotes": "[^a]: b\n",
    "tables": "|a|b|\n|-|-|\n",
    "references": "[a]: b\n",
    "formulas": "\\(a",
    "code": "` `` ``` ",
    "details": "<details>",
}
FORMS: Final[tuple[tuple[FormKind, str, str], ...]] = (
    ("regex", "alternatives", "a|"),
    ("regex", "repetitions", "a{9}"),
    ("lark", "rules", "a: a a\n"),
)


def repeated(text: str) -> Callable[[int], str]:
    return lambda size: text * size


def check_repeated(kind: FormKind, text: str) -> None:
    check_form(StructuredOutput(kind, text))


def rendered(text: str) -> str:
    return SharedMarkdown().render(text)


ROWS: Final = (
    CostRow(
        "cookie with escapes",
        lambda size: Headers({"host": "localhost", "cookie": f'{COOKIE}="' + "\\" * size + '"'}),
        shown_login,
        2_000,
        16_000,
    ),
    CostRow(
        "many cookies",
        lambda size: Headers({"host": "localhost", "cookie": "a=b;" * size + f"{COOKIE}=c"}),
        shown_login,
        1_000,
        16_000,
    ),
    CostRow(
        "SAML answer with inclusive canonicalization",
        lambda size: saml_answer(size, "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"),
        read_saml,
        150,
        1_000,
    ),
    CostRow(
        "SAML answer with exclusive canonicalization", lambda size: saml_answer(size, EXCLUSIVE), read_saml, 150, 1_000
    ),
    CostRow("empty members of a deflated body", lambda size: zlib.compress(b"") * size, inflated, 16_000, 128_000),
    CostRow("blocks of a gzipped body", lambda size: gzip.compress(bytes(size)), inflated, 500_000, 8_000_000),
    CostRow(
        "prompt with many private-use characters",
        lambda size: ["<|im_start|>" + "".join(map(chr, range(0xE000, 0xE000 + size)))],
        unused_character,
        12_000,
        250_000,
    ),
    CostRow("language range of dashes", lambda size: "-" * size, texts_for, 8_000, 32_000),
    CostRow("many language ranges", lambda size: "xx-yy," * size, texts_for, 1_000, 8_000),
    CostRow("text of combining marks", lambda size: "a" + "\u0301\u0316" * size, segmented, 450, 450),
    CostRow("search query of many words", lambda size: "a b " * size, SnippetMaker, 150, 2_000),
    CostRow("search query for SQLite", lambda size: "ab " * size, match_expression, 1_000, 16_000),
    CostRow("search query for PostgreSQL", lambda size: "ab " * size, lambda query: tsquery(query, "t"), 1_000, 16_000),
    CostRow("text that a search shows", lambda size: "a b " * size, SnippetMaker("ab cd").snippet, 2_000, 64_000),
    CostRow(
        "Authorization header",
        lambda size: Headers({"authorization": "Bearer " + " " * size}),
        shown_key,
        8_000,
        32_000,
    ),
    CostRow("Host header", lambda size: "a." * size, host_name, 8_000, 16_000),
    CostRow("Forwarded header", lambda size: Headers({"forwarded": "for=1;" * size}), forwarding_header, 4_000, 8_000),
    CostRow("path to return to", lambda size: "/" + "\\" * size, parse_own_path, 8_000, 64_000),
    CostRow("query string", lambda size: "a=b&" * size, QueryParams, 2_000, 16_000),
    CostRow("JSON of escapes", lambda size: b'"\\""' * size, check_bounds, 40_000, 80_000),
    CostRow("imported list", lambda size: b"[" + b"{}," * size + b"{}]", read_any, 1_000, 20_000),
    CostRow("files of a shared question", lambda size: '<file name="a">\n' * size + "\n</file>", question, 400, 10_000),
    CostRow("lines of a prompt", lambda size: "a\n" * size, lambda text: treat(text, KNOWN_LINES), 4_000, 200_000),
    *(CostRow(f"Markdown of {name}", repeated(text), rendered, 60, 4_000) for name, text in MARKDOWN.items()),
    *(
        CostRow(f"{kind} form of {name}", repeated(text), partial(check_repeated, kind), 250, 1_000)
        for kind, name, text in FORMS
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_cost_grows_in_proportion_to_input(row: CostRow, size: Size) -> None:
    assert growth(row, size.pick(small=row.size, full=row.full)) <= MOST_GROWTH
