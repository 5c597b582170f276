"""`ebb serve` when its processes are killed, hang or receive signals: restarts, handover and clean exits."""

import asyncio
import os
import signal
from pathlib import Path

import aiohttp
import pytest

from bench.server import server_pid
from tests.integration.app.host.test_server_life import WHOLE_ANSWER, ServerProcess, asked, process, saved, serving
from tests.integration.sse_events import all_events, text_of


def killed_child(server: ServerProcess) -> int:
    """Kill the server process with SIGKILL and return its process id."""
    child = server_pid(server.process.pid)
    assert child is not None
    os.kill(child, signal.SIGKILL)
    return child


async def test_killed_server_process_is_restarted_and_resumes(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, http):
        _, response = await asked(server, http)
        await saved(tmp_path / "conversations.db", num_tokens=3)
        killed = killed_child(server)
        response.close()
        await server.read_log_until(
            r"process was killed by SIGKILL; restarting it \(1 of 5 times in 10 minutes\) in 0 s"
        )
        server.log = ""
        again = await server.read_log_until(r"listening on (http://[\d.:]+)[ ;]")
        assert again[1] == server.url
        server.order("build")
        run_id = response.headers["X-Run-Id"]
        rest = await all_events(
            await http.get(f"/api/runs/{run_id}/events", headers={"Last-Event-ID": f"{run_id}:0.4"})
        )
        assert " w0 w1 w2" + text_of(rest) == WHOLE_ANSWER
        assert server_pid(server.process.pid) not in (None, killed)


async def test_engine_that_gives_up_is_restarted_and_resumes(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, http):
        _, response = await asked(server, http)
        server.order("give-up its thread hangs")
        assert [event.kind for event in await all_events(response)] == ["server_restart"]
        await server.read_log_until("handing the answers over to the next server process: its thread hangs")
        await server.read_log_until("the server process asked for a restart; restarting it")
        await server.read_log_until("listening on")
        server.order("build")
        run_id = response.headers["X-Run-Id"]
        rest = await all_events(
            await http.get(f"/api/runs/{run_id}/events", headers={"Last-Event-ID": f"{run_id}:0.4"})
        )
        assert " w0 w1 w2" + text_of(rest) == WHOLE_ANSWER


async def test_client_waits_between_two_server_processes(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _):
        # Only the second restart is delayed.
        killed_child(server)
        server.log = ""
        await server.read_log_until("listening on")
        killed_child(server)
        await server.read_log_until("in 1 s")
        assert server_pid(server.process.pid) is None
        async with aiohttp.ClientSession() as fresh, fresh.get(f"{server.url}/health") as response:
            assert response.status == 200


async def test_sigkill_of_supervisor_leaves_no_server_process(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _):
        child = server_pid(server.process.pid)
        assert child is not None
        pidfd = os.pidfd_open(child)
        ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(pidfd, ended.set)
        server.process.kill()
        async with asyncio.timeout(10):
            await ended.wait()
        asyncio.get_running_loop().remove_reader(pidfd)
        os.close(pidfd)


async def test_start_right_after_sigkill_gets_same_address(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _):
        port = int(server.url.rpartition(":")[2])
        child = server_pid(server.process.pid)
        assert child is not None
        # A stopped process cannot release the state directory and the port on its own.
        os.kill(child, signal.SIGSTOP)
        server.process.kill()
        await server.exit_code()
        async with serving(tmp_path, port=port) as (again, _):
            assert again.url == server.url


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_signal_to_both_processes_hands_over_once(tmp_path: Path, number: signal.Signals) -> None:
    async with serving(tmp_path, drain=0.05) as (server, http):
        _, response = await asked(server, http)
        child = server_pid(server.process.pid)
        assert child is not None
        os.kill(child, number)
        server.process.send_signal(number)
        assert [event.kind for event in await all_events(response)] == ["server_restart"]
        assert await server.exit_code() == 0
        assert "at once" not in server.log.replace("a second signal stops at once", "")


async def test_second_signal_ends_frozen_server_process(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _):
        child = server_pid(server.process.pid)
        assert child is not None
        os.kill(child, signal.SIGSTOP)
        server.process.send_signal(signal.SIGINT)
        server.process.send_signal(signal.SIGTERM)
        assert await server.exit_code() in (128 + signal.SIGINT, 128 + signal.SIGTERM)


async def test_signal_during_restart_delay_ends_supervisor(tmp_path: Path) -> None:
    async with process(tmp_path) as server:
        for pause in (0, 1):
            await server.read_log_until("listening on")
            killed_child(server)
            await server.read_log_until(f"in {pause} s")
            server.log = ""
        server.process.send_signal(signal.SIGTERM)
        assert await server.exit_code() == 0
