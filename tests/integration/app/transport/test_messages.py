"""One message in, one response out: where a request ends, and what belongs to its head, over a real socket."""

import json
from collections.abc import AsyncIterator, Sequence
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.routing import Route

from app.accounts.accounts import Accounts
from app.accounts.proxy_login import ProxyLogin
from app.accounts.rules import GroupRules
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer, running_server
from tests.raw_exchange import echo, exchange
from tests.raw_messages import OFFERS, TRAILERS

ACCOUNTS = Accounts(
    proxy=ProxyLogin("remote-user", "remote-groups", (ip_network("127.0.0.1"),)),
    rules=GroupRules({"staff": "user", "ops": "admin"}),
)
ADA = b"Remote-User: ada\r\nRemote-Groups: staff\r\n"
END = b"GET /echo?end HTTP/1.1\r\nHost: localhost\r\n" + ADA + b"Connection: close\r\n\r\n"
"""Request that follows the others of a connection. Its response is the last."""


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RunningServer[ReplayEngine]]:
    routes = [Route("/echo", echo, methods=["GET", "POST"])]
    async with running_server(
        tmp_path, ReplayEngine(), auth_policy="always", accounts=ACCOUNTS, routes=routes
    ) as server:
        yield server


async def responses(server: RunningServer[ReplayEngine], packets: Sequence[bytes]) -> list[tuple[int, bytes]]:
    """Send `packets`, and return the status and the body of each response until the connection closes."""
    port = urlsplit(server.url).port
    assert port is not None
    return [(each.status, each.body) for each in await exchange(port, packets)]


async def test_trailer_is_never_read_as_a_header(server: RunningServer[ReplayEngine]) -> None:
    head = b"GET /%b HTTP/1.1\r\nHost: localhost\r\n" + ADA + b"Transfer-Encoding: chunked\r\n\r\n"
    for path in (b"api/account", b"echo"):
        begin = head % path
        without = await responses(server, [begin + b"2\r\n{}\r\n0\r\n\r\n" + END])
        assert [status for status, _ in without] == [200, 200]
        for trailer in TRAILERS:
            end = b"2\r\n{}\r\n0\r\n" + trailer + b"\r\n\r\n"
            for pieces in ([begin + end + END], [begin, end, END], [begin + end[:9], end[9:] + END]):
                assert await responses(server, pieces) == without, pieces


async def test_trailers_without_end_are_refused(server: RunningServer[ReplayEngine]) -> None:
    head = b"POST /echo HTTP/1.1\r\nHost: localhost\r\n" + ADA + b"Transfer-Encoding: chunked\r\n\r\n0\r\n"
    found = await responses(server, [head, *[b"X-A: " + b"b" * 8000 + b"\r\n"] * 40])
    assert [status for status, _ in found] == [431]


async def test_second_header_of_groups_is_refused(server: RunningServer[ReplayEngine]) -> None:
    head = b"GET /api/account HTTP/1.1\r\nHost: localhost\r\n" + ADA + b"Remote-Groups: ops\r\n\r\n"
    ((status, body), _) = await responses(server, [head + END])
    assert (status, json.loads(body)["error"]["code"]) == (403, "untrusted_proxy")


INNER = b"GET /echo?inner HTTP/1.1\r\nHost: localhost\r\nRemote-User: root\r\nRemote-Groups: ops\r\n\r\n"
"""Body that is a request, and must never be run as one."""

BODIES = {
    "empty": (b"", b""),
    "known length": (b"Content-Length: %d\r\n" % len(INNER), INNER),
    "chunked": (b"Transfer-Encoding: chunked\r\n", b"%x\r\n%b\r\n0\r\n\r\n" % (len(INNER), INNER)),
    "trailer": (b"Transfer-Encoding: chunked\r\n", b"%x\r\n%b\r\n0\r\nX-A: b\r\n\r\n" % (len(INNER), INNER)),
}


def packets(head: bytes, body: bytes) -> list[list[bytes]]:
    """Return ways to send a request and the last one of a connection."""
    whole = head + body + END
    ways = [[whole], [head, body + END], [head, body, END], [head + body, END], [head[:-1], head[-1:] + body + END]]
    return [[piece for piece in way if piece] for way in [*ways, [whole[:1], whole[1:-1], whole[-1:]]]]


@pytest.mark.parametrize("body", BODIES)
async def test_offer_of_another_protocol_is_ignored(body: str, server: RunningServer[ReplayEngine]) -> None:
    declared, sent = BODIES[body]
    for offer in OFFERS:
        head = b"POST /echo HTTP/1.1\r\nHost: localhost\r\n" + ADA + declared
        head += b"Connection: Upgrade\r\nUpgrade: " + offer + b"\r\n\r\n"
        for pieces in packets(head, sent):
            first, last = await responses(server, pieces)
            assert (first[0], json.loads(first[1])["body"]) == (200, INNER.decode() if sent else ""), pieces
            assert (last[0], json.loads(last[1])["query"]) == (200, "end"), pieces


async def test_several_offers_in_one_packet_are_ignored(server: RunningServer[ReplayEngine]) -> None:
    declared, sent = BODIES["chunked"]
    head = b"POST /echo HTTP/1.1\r\nHost: localhost\r\n" + ADA + declared
    message = head + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n" + sent
    found = await responses(server, [message * 3 + END])
    assert [json.loads(body)["body"] for _, body in found] == [INNER.decode()] * 3 + [""]


async def test_offer_with_close_ends_the_connection(server: RunningServer[ReplayEngine]) -> None:
    declared, sent = BODIES["known length"]
    head = b"POST /echo HTTP/1.1\r\nHost: localhost\r\n" + ADA + declared
    head += b"Connection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n"
    for pieces in ([head + sent + END], [head, sent + END]):
        ((status, body),) = await responses(server, pieces)
        assert (status, json.loads(body)["body"]) == (200, INNER.decode()), pieces


async def test_body_of_connect_is_not_run_as_a_request(server: RunningServer[ReplayEngine]) -> None:
    for target in (b"/echo", b"localhost:443"):
        for declared, sent in BODIES.values():
            head = b"CONNECT " + target + b" HTTP/1.1\r\nHost: localhost\r\n" + ADA + declared + b"\r\n"
            # Without a body, a second packet would arrive at a closed connection.
            for pieces in ([head + sent + END], *([[head, sent + END]] if sent else [])):
                found = await responses(server, pieces)
                assert [status for status, _ in found] in ([400], [404], [405]), pieces
