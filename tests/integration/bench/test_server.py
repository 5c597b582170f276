"""Start, kill and restart of servers, as real processes of a stub that takes Ebb's flags."""

import os
import sys
from pathlib import Path

import pytest

from app.load.client import Generation
from bench.server import EbbServer, ServerFailedError, ServerSettings, settle
from tests.sizes import TOOL

pytestmark = TOOL

STUB = (sys.executable, str(Path(__file__).parents[1] / "bench_stub_server.py"))
HELLO = [{"role": "user", "content": "one two three four five"}]


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_server_keeps_its_state_over_kill_9(tmp_path: Path) -> None:
    async with EbbServer(ServerSettings("tiers"), tmp_path / "state", STUB) as server:
        first_pid = server.pid
        said = await server.client.chat(HELLO, Generation(3))
        assert said.tier_tokens().computed == 6
        assert await settle(server)
        again = [*HELLO, {"role": "assistant", "content": said.text}, {"role": "user", "content": "six"}]

        ready = await server.restart_after_kill()

        assert ready > 0
        assert not _alive(first_pid)
        second_pid = server.pid
        assert second_pid != first_pid
        assert (await server.client.chat(again, Generation(3))).tier_tokens().reused["disk"] >= 6
    assert not _alive(second_pid)


async def test_server_failing_at_start_reports_the_end_of_its_log(tmp_path: Path) -> None:
    command = (sys.executable, "-c", "raise SystemExit('no such model: moby')")

    with pytest.raises(ServerFailedError, match="'tiers' exited during its start:\nno such model: moby"):
        await EbbServer(ServerSettings("tiers"), tmp_path, command).start()


async def test_server_that_never_becomes_ready_is_stopped(tmp_path: Path) -> None:
    program = "import signal, sys; print('loading', flush=True); signal.pause()"
    server = EbbServer(ServerSettings("slow"), tmp_path, (sys.executable, "-c", program))

    with pytest.raises(ServerFailedError, match="'slow' did not become ready"):
        await server.start(ready_seconds=0.2)
    with pytest.raises(RuntimeError, match="is not running"):
        _ = server.pid


async def test_stopped_server_has_no_client(tmp_path: Path) -> None:
    server = EbbServer(ServerSettings("tiers"), tmp_path, STUB)

    await server.stop()
    with pytest.raises(RuntimeError, match="is not running"):
        _ = server.client
