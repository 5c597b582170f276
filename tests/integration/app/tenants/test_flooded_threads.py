"""A server whose threads one tenant has filled with work."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from app.server import event_loop
from app.tenants.fair_threads import THREADS
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import api_client, running_server
from tests.integration.tenants import serving_people


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=event_loop) as runner:
        yield runner


def test_other_tenants_and_monitoring_do_not_wait(runner: asyncio.Runner, tmp_path: Path) -> None:
    go, began = threading.Event(), threading.Semaphore(0)

    def wait() -> str:
        began.release()
        assert go.wait(30)
        return "waited"

    async def work(request: Request) -> PlainTextResponse:
        waits = "waits" in request.query_params
        return PlainTextResponse(await asyncio.to_thread(wait if waits else lambda: "done"))

    async def flood() -> None:
        async with serving_people(tmp_path, routes=[Route("/api/work", work)]) as people:
            flood = [asyncio.create_task(people.alice.get("/api/work?waits")) for _ in range(3 * THREADS)]
            assert await asyncio.get_running_loop().run_in_executor(None, began.acquire, True, 20)
            try:
                async with asyncio.timeout(20):
                    assert await (await people.bob.get("/api/work")).text() == "done"
                    assert (await people.root.get("/metrics")).status == 200
                assert not any(each.done() for each in flood)
            finally:
                go.set()
            assert {(await each).status for each in flood} == {200}

    runner.run(flood())


def test_monitoring_needs_none_of_the_threads(runner: asyncio.Runner, tmp_path: Path) -> None:
    async def flood() -> None:
        async with running_server(tmp_path, ReplayEngine()) as server, api_client(server.url) as client:
            go = threading.Event()
            blocked = [asyncio.create_task(asyncio.to_thread(go.wait, 30)) for _ in range(3 * THREADS)]
            try:
                async with asyncio.timeout(20):
                    for path in ("/health", "/ready", "/metrics"):
                        assert (await client.get(path)).status == 200
            finally:
                go.set()
            await asyncio.gather(*blocked)

    runner.run(flood())
