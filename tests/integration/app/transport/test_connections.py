"""Connection limits over real sockets: excess idle connections are closed, and excess requests get an error."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.transport.connections import ConnectionLimits
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.tenants import serving_people
from tests.sizes import Size

COMPLETION = {"model": "fake-1", "prompt": "x", "stream": True}
FEW = ConnectionLimits(total=8, per_address=8)
GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


@asynccontextmanager
async def idle_connections(server: RunningServer[ReplayEngine], number: int, sent: bytes = b"") -> AsyncIterator[None]:
    """Hold `number` open connections that each sent `sent` and nothing more."""
    port = int(server.url.rpartition(":")[2])
    writers = []
    for _ in range(number):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        writers.append(writer)
    try:
        yield
    finally:
        for writer in writers:
            writer.transport.abort()


@pytest.mark.parametrize("sent", [b"", b"GET / HT", GET])
async def test_idle_connections_never_block_new_client(tmp_path: Path, sent: bytes, size: Size) -> None:
    number = size.pick(small=60, full=2000)
    async with (
        running_server(tmp_path, ReplayEngine(), limits=FEW) as server,
        idle_connections(server, number, sent),
        api_client(server.url) as http,
    ):
        assert (await http.get("/health")).status == 200
        assert len(server.connections) <= FEW.total


async def test_running_answer_survives_connection_flood(tmp_path: Path) -> None:
    engine = ReplayEngine()
    async with running_server(tmp_path, engine, limits=FEW) as server, api_client(server.url) as http:
        engine.hold()
        stream = await http.post("/v1/completions", json=COMPLETION)
        await engine.until_running(1)
        async with idle_connections(server, 40):
            engine.allow(None)
            assert (await stream.read()).rstrip().endswith(b"data: [DONE]")


async def test_request_over_connection_limit_gets_503_retry_after(tmp_path: Path) -> None:
    engine, two = ReplayEngine(), ConnectionLimits(total=2, per_address=2)
    async with running_server(tmp_path, engine, limits=two) as server, api_client(server.url) as http:
        engine.hold()
        streams = [await http.post("/v1/completions", json=COMPLETION) for _ in range(2)]
        await engine.until_running(2)
        refused = await http.post("/v1/completions", json=COMPLETION)
        error = (await refused.json())["error"]
        assert (refused.status, error["code"]) == (503, "too_many_connections")
        assert int(refused.headers["Retry-After"]) > 0
        assert refused.headers["Connection"] == "close"
        assert refused.headers["X-Request-Id"]
        assert (await http.get("/health")).status == 200, "a probe must not fail under load"
        engine.allow(None)
        for stream in streams:
            await stream.read()
        assert (await http.post("/v1/completions", json=COMPLETION)).status == 200


async def test_open_requests_limit_applies_per_tenant(tmp_path: Path) -> None:
    async with serving_people(tmp_path) as people:
        people.engine.hold()
        limited = await people.root.put("/api/admin/tenants/alice/limits", json={"open_requests": 2})
        assert (limited.status, (await limited.json())["limits"]["open_requests"]) == (200, 2)
        streams = [await people.alice.post("/v1/completions", json=COMPLETION) for _ in range(2)]
        for path in ("/api/conversations", "/v1/models"):
            refused = await people.alice.get(path)
            assert (refused.status, (await refused.json())["error"]["code"]) == (429, "open_requests_limit")
            assert int(refused.headers["Retry-After"]) > 0
        assert (await people.alice.get("/health")).status == 200
        assert (await people.bob.get("/api/conversations")).status == 200
        assert 'limit="open_requests"} 2.0' in await (await people.root.get("/metrics")).text()
        people.engine.allow(None)
        for stream in streams:
            await stream.read()
        assert (await people.alice.get("/v1/models")).status == 200


async def test_administrator_can_undo_limit_on_own_tenant(tmp_path: Path) -> None:
    async with serving_people(tmp_path) as people:
        limits = "/api/admin/tenants/root/limits"
        assert (await people.root.put(limits, json={"open_requests": 0})).status == 200
        assert (await people.root.get("/v1/models")).status == 429
        assert (await people.root.get("/metrics")).status == 200
        assert (await people.root.put(limits, json={})).status == 200
        assert (await people.root.get("/v1/models")).status == 200


async def test_busy_server_reserves_room_for_other_tenants(tmp_path: Path) -> None:
    async with serving_people(tmp_path, limits=FEW) as people:
        people.engine.hold()
        streams = [await people.alice.post("/v1/completions", json=COMPLETION) for _ in range(4)]
        refused = await people.alice.post("/v1/completions", json=COMPLETION)
        assert (refused.status, (await refused.json())["error"]["code"]) == (429, "open_requests_limit")
        assert (await people.bob.get("/api/conversations")).status == 200
        people.engine.allow(None)
        for stream in streams:
            await stream.read()


async def test_keyless_server_lets_its_user_take_all_connections(tmp_path: Path) -> None:
    engine = ReplayEngine()
    async with running_server(tmp_path, engine, limits=FEW) as server, api_client(server.url) as http:
        engine.hold()
        streams = [await http.post("/v1/completions", json=COMPLETION) for _ in range(FEW.total)]
        assert [stream.status for stream in streams] == [200] * FEW.total
        engine.allow(None)
        for stream in streams:
            await stream.read()
