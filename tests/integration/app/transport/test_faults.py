"""Unexpected server errors: the client's response and the log."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import api_client, running_server


async def broken(request: Request) -> Response:
    raise RuntimeError("the inner workings")


async def breaks_off(request: Request) -> Response:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"some"
        raise RuntimeError("the inner workings")

    return StreamingResponse(pieces())


@asynccontextmanager
async def served(folder: Path, *, cors_origins: tuple[str, ...] = ()) -> AsyncIterator[aiohttp.ClientSession]:
    routes = [Route("/broken", broken), Route("/breaks-off", breaks_off)]
    async with (
        running_server(folder, ReplayEngine(), routes=routes, cors_origins=cors_origins) as server,
        api_client(server.url) as http,
    ):
        yield http


async def test_unexpected_error_is_logged_and_hidden_from_the_client(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(tmp_path, cors_origins=("https://chat.example",)) as http:
        response = await http.get("/broken", headers={"X-Request-Id": "mine", "Origin": "https://chat.example"})
        text = await response.text()
        counted = await (await http.get("/metrics")).text()
    assert response.status == 500
    assert response.headers["X-Request-Id"] == "mine"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'self'" in response.headers["Content-Security-Policy"]
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Access-Control-Allow-Origin"] == "https://chat.example"
    assert "inner workings" not in text
    assert "Traceback" not in text
    assert (await response.json())["error"] == {
        "message": "Unexpected server error. Look for mine in the server's log",
        "type": "server_error",
        "param": None,
        "code": "internal_error",
    }
    [fault] = [record for record in caplog.records if record.exc_info]
    assert fault.name == "app.transport.faults"
    assert 'ebb_http_responses_total{method="GET",status="500"} 1.0' in counted


async def test_broken_off_response_is_seen_as_incomplete(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with served(tmp_path) as http:
        response = await http.get("/breaks-off")
        assert response.status == 200
        with pytest.raises(aiohttp.ClientPayloadError):
            await response.read()
    assert [record.name for record in caplog.records if record.exc_info] == ["app.transport.faults"]


async def test_disconnect_during_request_body_is_not_an_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="ebb.requests")
    async with running_server(tmp_path, ReplayEngine()) as server:
        _, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
        head = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"
        writer.write(head)
        await writer.drain()
        writer.close()
        async with asyncio.timeout(20):
            # The server's task writes the log line and signals no event.
            while not any(record.name == "ebb.requests" for record in caplog.records):  # noqa: ASYNC110
                await asyncio.sleep(0)
    [line] = [record for record in caplog.records if record.name == "ebb.requests"]
    assert vars(line)["facts"]["status"] == 499
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
