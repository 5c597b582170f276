"""The Caddyfile of docs/guides/accounts.md: a client chooses neither its name nor its groups."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import running_server
from tests.proxies.proxy import run_caddy, running
from tests.proxies.test_messages import ACCOUNTS
from tests.raw_exchange import Response, exchange
from tests.redis_server import free_port

DOCS = Path(__file__).parents[2] / "docs" / "guides" / "accounts.md"
CHOSEN = b"Remote-User: root\r\nRemote-Groups: ops\r\n"


def documented(copied: str) -> str:
    """Return the Caddyfile of the docs, with the headers of the login that it copies."""
    _, _, rest = DOCS.read_text().partition("chat.example {\n")
    site, _, _ = rest.partition("\n}\n```")
    assert "copy_headers Remote-User Remote-Groups\n" in site
    return site.replace("copy_headers Remote-User Remote-Groups", f"copy_headers {copied}")


@asynccontextmanager
async def login(headers: bytes) -> AsyncIterator[int]:
    """Serve a login that admits everybody and answers with `headers`. Yield its port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n" + headers + b"\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


async def answered(folder: Path, copied: str, headers: bytes) -> Response:
    """Send a request that chooses a name and groups through Caddy to the server, and return the response."""
    async with (
        login(headers) as door,
        running_server(folder, ReplayEngine(), auth_policy="always", accounts=ACCOUNTS) as server,
    ):
        site = documented(copied).replace("127.0.0.1:9091", f"127.0.0.1:{door}")
        site = site.replace("127.0.0.1:8000", server.url.removeprefix("http://"))
        port = free_port()
        options = "{\nadmin off\nauto_https off\n}\n"
        (folder / "Caddyfile").write_text(f"{options}http://:{port} {{\nbind 127.0.0.1\n{site}\n}}\n")
        with running(run_caddy(folder), folder, port):
            request = b"GET /api/account HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + CHOSEN + b"\r\n"
            [response] = await exchange(port, [request])
    return response


# Some versions of Caddy copy no header that the login does not set, as if it were not named.
@pytest.mark.parametrize("copied", ["Remote-User Remote-Groups", "Remote-User"])
async def test_client_chooses_no_groups(tmp_path: Path, copied: str) -> None:
    response = await answered(tmp_path, copied, b"Remote-User: ada\r\n")
    assert (response.status, json.loads(response.body)["error"]["code"]) == (403, "account_refused")


@pytest.mark.parametrize("copied", ["Remote-User Remote-Groups", "Remote-Groups"])
async def test_client_chooses_no_name(tmp_path: Path, copied: str) -> None:
    response = await answered(tmp_path, copied, b"Remote-Groups: staff\r\n")
    assert response.status == 401 or json.loads(response.body)["name"] != "root"


async def test_login_names_person_and_groups(tmp_path: Path) -> None:
    named = b"Remote-User: ada\r\nRemote-Groups: staff\r\n"
    response = await answered(tmp_path, "Remote-User Remote-Groups", named)
    found = json.loads(response.body)
    assert (response.status, found["name"], found["scope"]) == (200, "ada", "user")
