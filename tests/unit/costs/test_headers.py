"""Headers and addresses of requests, before and after the door."""

import asyncio
import logging
import re
from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final, cast

import pytest
from starlette.applications import Starlette
from starlette.datastructures import Headers, QueryParams
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.types import Message, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from app.access.authentication import COOKIE, forwarding_header, shown_key, shown_login
from app.access.middleware import cors, host_name, is_same_origin
from app.accounts.known_browsers import KnownBrowsers
from app.accounts.own_path import parse_own_path
from app.accounts.proxy_login import ProxyLogin
from app.apis.responses.listing import Listing
from app.conversations.shared_page_texts import texts_for
from app.domain.bounds import MAX_URL_BYTES
from app.domain.wildcards import wildcard_source
from app.host.engine_host import EngineHost
from app.host.model_aliases import ModelAliases
from app.http.attachment import attachment
from app.http.operation_table import OperationTable
from app.http.request_body import is_compressed
from app.http.request_context import RequestContext
from app.logs.log_lines import TextLines
from app.observability.metrics import Metrics
from app.observability.tracing import trace_of
from app.routes.api import OPERATIONS
from app.routes.cursors import parse_position
from app.routes.login import client_of
from app.routes.pages import ImmutableFiles, UnknownAddress, _accepts_gzip
from app.routes.transfer import ImportChoice
from app.routes.versioned import expected_versions
from app.runs.run_log import is_number
from app.storage.search_words import phrases_of
from app.storage.snippets import SnippetMaker
from app.storage.sqlite.text_index import match_expression
from app.transport.connections import network_of
from app.transport.head_rules import fault_of_head
from tests.cost_rows import MOST_GROWTH, CostRow, for_each, growth, repeated, seconds
from tests.sizes import Size

APP: Final = Path(__file__).parents[3] / "app"
PROXY: Final = ProxyLogin("remote-user", "remote-groups", (ip_network("127.0.0.1"),))
BROWSERS: Final = KnownBrowsers(b"secret")
ALIASES: Final = ModelAliases({"a*b*c*d": "model"})


def header(name: str, text: str, before: str = "", after: str = "") -> Callable[[int], Headers]:
    make = repeated(text, before, after)
    return lambda size: Headers({"host": "localhost", name: make(size)})


def request_with(headers: Headers, query: str = "") -> Request:
    return Request({"type": "http", "method": "GET", "headers": headers.raw, "query_string": query.encode()})


def run(application: Callable[[Scope, Receive, Send], Any], headers: Headers, method: str = "GET") -> None:
    """Run an application (ASGI) with a request whose response is discarded."""

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(_message: Message) -> None:
        pass

    scope = {"type": "http", "method": method, "scheme": "http", "client": ("127.0.0.1", 1), "headers": headers.raw}
    asyncio.run(application({**scope, "path": f"/{Path(__file__).name}", "root_path": ""}, receive, send))


async def ignore(_scope: Scope, _receive: Receive, _send: Send) -> None:
    pass


FORWARDED: Final[Any] = ProxyHeadersMiddleware(cast("Any", ignore), "127.0.0.1")
PAGE: Final = FileResponse(Path(__file__))
ASSETS: Final = ImmutableFiles(directory=Path(__file__).parent)
UNKNOWN_ADDRESS: Final = UnknownAddress(ignore, Path(__file__))
CONTEXT: Final = RequestContext(ignore, Metrics(EngineHost(), lambda: 0), logs_body=lambda *_: False)
CORS: Final = Starlette(middleware=cors(["https://page.example"]))
TRACE: Final = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"


def preflight(size: int) -> Headers:
    asked = {"access-control-request-method": "GET", "access-control-request-headers": "a," * size}
    return Headers({"origin": "https://page.example", **asked})


def check_head(name: bytes) -> Callable[[str], object]:
    """Return a check of a head with a header of this name."""
    return lambda text: fault_of_head("1.1", [(b"host", b"localhost")] * (name != b"host") + [(name, text.encode())])


def import_choice(query: str) -> ImportChoice:
    return ImportChoice.parse(QueryParams(query))


def logged(text: str) -> str:
    return TextLines().format(logging.makeLogRecord({"msg": "%s", "args": (text,), "facts": {"client": text}}))


ROWS: Final = (
    CostRow("cookie with escapes", header("cookie", "\\", f'{COOKIE}="', '"'), shown_login, 2_000, 16_000),
    CostRow("many cookies", header("cookie", "a=b;", after=f"{COOKIE}=c"), shown_login, 1_000, 16_000),
    CostRow(
        "mark of a browser", repeated("."), lambda mark: BROWSERS.source(mark, "ada", "", lambda: None), 4_000, 16_000
    ),
    CostRow("Authorization header", header("authorization", " ", "Bearer "), shown_key, 8_000, 32_000),
    CostRow("key of many parts", header("x-api-key", "sk-ebb-"), shown_key, 4_000, 16_000),
    CostRow("Host header", repeated("a."), host_name, 8_000, 16_000),
    CostRow("Forwarded header", header("forwarded", "for=1;"), forwarding_header, 4_000, 8_000),
    CostRow(
        "X-Forwarded-For header", header("x-forwarded-for", "127.0.0.1,"), lambda h: run(FORWARDED, h), 1_000, 8_000
    ),
    CostRow("address that a proxy names", repeated("1:"), network_of, 4_000, 32_000),
    CostRow(
        "groups that a proxy names",
        header("remote-groups", "a, "),
        lambda h: PROXY.identity(h, "127.0.0.1"),
        4_000,
        16_000,
    ),
    CostRow(
        "person that a proxy names", header("remote-user", "a"), lambda h: PROXY.identity(h, "127.0.0.1"), 8_000, 32_000
    ),
    CostRow("Accept-Language of dashes", repeated("-"), texts_for, 8_000, 32_000),
    CostRow("many languages", repeated("xx-yy,"), texts_for, 1_000, 8_000),
    CostRow("Accept-Encoding header", header("accept-encoding", "gzip;q=0,"), _accepts_gzip, 1_000, 8_000),
    CostRow("Content-Encoding header", repeated("identity,"), is_compressed, 1_000, 8_000),
    CostRow("Range header", header("range", "0-0,", "bytes="), lambda headers: run(PAGE, headers), 1_000, 8_000),
    CostRow("If-Range header", header("if-range", '"'), lambda headers: run(PAGE, headers), 1_000, 8_000),
    CostRow("If-Match header", header("if-match", '"1",'), lambda h: expected_versions(request_with(h)), 1_000, 16_000),
    CostRow("If-Match of spaces", header("if-match", " "), lambda h: expected_versions(request_with(h)), 4_000, 32_000),
    CostRow("If-None-Match header", header("if-none-match", '"a",'), lambda h: run(ASSETS, h), 1_000, 8_000),
    CostRow("If-Modified-Since header", header("if-modified-since", "1:("), lambda h: run(ASSETS, h), 1_000, 8_000),
    CostRow("Accept header", header("accept", "text/html,"), lambda h: run(UNKNOWN_ADDRESS, h), 1_000, 8_000),
    CostRow("Origin header", header("origin", "a.", "https://"), is_same_origin, 4_000, 16_000),
    CostRow("Sec-Fetch-Site header", header("sec-fetch-site", "none,"), is_same_origin, 4_000, 16_000),
    CostRow(
        "Sec-Fetch-Mode header", header("sec-fetch-mode", "navigate,"), lambda h: run(UNKNOWN_ADDRESS, h), 1_000, 8_000
    ),
    CostRow("User-Agent header", header("user-agent", "\u0080"), lambda h: client_of(request_with(h)), 8_000, 32_000),
    CostRow("X-Request-Id header", header("x-request-id", "a-"), lambda h: run(CONTEXT, h), 8_000, 32_000),
    CostRow("preflight", preflight, lambda h: run(CORS, h, "OPTIONS"), 1_000, 8_000),
    CostRow("Host header of a head", repeated("a."), check_head(b"host"), 4_000, 16_000),
    CostRow("Transfer-Encoding header", repeated("chunked, "), check_head(b"transfer-encoding"), 1_000, 4_000),
    CostRow("traceparent header", header("traceparent", "0-", TRACE), trace_of, 4_000, 32_000),
    CostRow(
        "tracestate header of spaces",
        lambda n: Headers({"traceparent": TRACE, "tracestate": " " * n}),
        trace_of,
        4_000,
        8_000,
    ),
    CostRow("path of a request", repeated("/a"), OperationTable(OPERATIONS).access_of, 4_000, 16_000),
    CostRow("Last-Event-ID header", repeated("1."), lambda text: is_number(text.rpartition(".")[2]), 8_000, 32_000),
    CostRow("query string", repeated("a=b&"), QueryParams, 2_000, 16_000),
    CostRow("query of a list", repeated("include=a&"), lambda text: Listing.parse(QueryParams(text)), 1_000, 16_000),
    CostRow(
        "positions of an import",
        repeated("1,", "chosen="),
        lambda text: ImportChoice.parse(QueryParams(text)),
        1_000,
        4_000,
    ),
    CostRow("cursor of a list", repeated("AAAA"), parse_position, 4_000, 16_000),
    CostRow("path to return to", repeated("\\", "/"), parse_own_path, 8_000, 64_000),
    CostRow("name of a model", repeated("abcd"), ALIASES.model, 4_000, 64_000),
    CostRow("pattern of names", repeated("a*"), wildcard_source, 1_000, 16_000),
    CostRow("title of a saved file", repeated("a/:"), lambda title: attachment(title, "md"), 4_000, 64_000),
    CostRow("title of spaces", repeated(" \u3000"), lambda title: attachment(title, "md"), 4_000, 64_000),
    CostRow("search query of many words", repeated("a b "), SnippetMaker, 150, 2_000),
    CostRow("search query for SQLite", repeated("ab "), match_expression, 1_000, 16_000),
    CostRow("words of a search query", repeated("ab "), phrases_of, 1_000, 16_000),
    CostRow("log line with addresses", repeated("://a"), logged, 2_000, 32_000),
    CostRow("log line of spaces", repeated("bearer    "), logged, 1_000, 16_000),
    CostRow("log line of control characters", repeated("\0"), logged, 2_000, 16_000),
)


@for_each(ROWS)
def test_cost_grows_in_proportion_to_input(row: CostRow, size: Size) -> None:
    assert growth(row, size.pick(small=row.size, full=row.full)) <= MOST_GROWTH


def test_every_header_that_is_read_has_a_row() -> None:
    read, rows = set[str](), Path(__file__).read_text()
    for path in APP.rglob("*.py"):
        read.update(re.findall(r'headers(?:\.get|\.getlist)?[(\[]b?"([a-z][a-z-]+)"', path.read_text()))
    assert {"host", "cookie", "if-match"} <= read
    # The parser of HTTP checks the length.
    assert {name for name in read - {"content-length"} if name not in rows.lower()} == set()


@pytest.mark.parametrize("part", ["0-99999,", "0,"])
def test_longest_list_of_positions_is_cheap(part: str) -> None:
    longest = CostRow("", repeated(part, "chosen="), import_choice, 0, 0)
    assert seconds(longest, MAX_URL_BYTES // len(part)) < 0.25
