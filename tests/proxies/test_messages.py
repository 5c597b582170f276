"""Requests through a proxy to a server that the proxy names people to: who they are from, and what is in them."""

import json
from collections.abc import AsyncIterator
from ipaddress import ip_network
from pathlib import Path

import pytest
from starlette.routing import Route

from app.accounts.accounts import Accounts
from app.accounts.proxy_login import ProxyLogin
from app.accounts.rules import GroupRules
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import running_server
from tests.proxies.proxy import MADE_BY, PROXIES, Ports, running_proxy
from tests.raw_exchange import Response, echo, exchange
from tests.raw_messages import INNER, TRAILERS

ACCOUNTS = Accounts(
    proxy=ProxyLogin("remote-user", "remote-groups", (ip_network("127.0.0.1"),)),
    rules=GroupRules({"staff": "user", "ops": "admin"}),
)
END = b"GET /api/account HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@pytest.fixture(params=PROXIES)
async def ports(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Ports]:
    routes = [Route("/echo", echo, methods=["GET", "POST"])]
    async with running_server(
        tmp_path, ReplayEngine(), auth_policy="always", accounts=ACCOUNTS, routes=routes
    ) as server:
        with running_proxy(request.param, int(server.url.rpartition(":")[2]), tmp_path) as ports:
            yield ports


def chunked(path: bytes, body: bytes, trailer: bytes = b"") -> bytes:
    head = b"POST %b HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" % path
    return head + b"%x\r\n%b\r\n0\r\n%b\r\n" % (len(body), body, trailer and trailer + b"\r\n")


def account(response: Response) -> tuple[str, str]:
    """Return the name and the scope of the person that a request was from."""
    found = json.loads(response.body)
    return found["name"], found["scope"]


def as_received(response: Response) -> tuple[str, list[list[str]]]:
    """Return the body and the headers of a request to `echo`, without its id and its framing, which proxies choose."""
    found, chosen = json.loads(response.body), (MADE_BY.decode(), "content-length", "transfer-encoding")
    return found["body"], sorted(header for header in found["headers"] if header[0] not in chosen)


async def test_trailer_changes_no_request(ports: Ports) -> None:
    without, _ = await exchange(ports.login, [chunked(b"/echo", INNER) + END])
    assert as_received(without)[0] == INNER.decode()
    for trailer in TRAILERS:
        request = chunked(b"/echo", INNER, trailer)
        for packets in ([request + END], [request[:-9], request[-9:] + END]):
            first, last = await exchange(ports.login, packets)
            assert as_received(first) == as_received(without), trailer
            assert account(last) == ("ada", "user")


async def test_trailer_names_no_person(ports: Ports) -> None:
    for trailer in TRAILERS[:2]:
        request = chunked(b"/api/admin/keys", b"{}", trailer)
        assert [each.status for each in await exchange(ports.login, [request + END])] == [403, 200]
        assert {each.status for each in await exchange(ports.bare, [request + END])} == {401}


async def test_client_that_offers_h2c_can_post(ports: Ports) -> None:
    """Send requests as JDK's HttpClient does by default: each with an offer of h2c, on one connection."""
    for body in (b"", b"{}", INNER, bytes(range(128)) * 1000):
        head = b"POST /echo HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nContent-Length: %d\r\n" % len(body)
        head += b"Host: localhost\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\nUpgrade: h2c\r\n"
        head += b"User-Agent: Java-http-client/17.0.15\r\n\r\n"
        for packets in ([(head + body) * 2 + END], [head, body, head, body + END]):
            first, second, last = await exchange(ports.login, [each for each in packets if each])
            assert (first.status, second.status) == (200, 200)
            assert json.loads(first.body)["body"] == json.loads(second.body)["body"] == body.decode()
            assert account(last) == ("ada", "user")
