"""`ebb serve` whose log no program reads: a terminal that Ctrl-S has stopped, or a pipe whose reader stands still."""

import asyncio
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import F_SETPIPE_SZ, fcntl
from pathlib import Path
from typing import BinaryIO

import aiohttp

from bench.server import server_pid
from tests.integration.app.host.test_server_life import ServerProcess, pipe, serving

CTRL_Q, CTRL_S = b"\x11", b"\x13"
REQUESTS = 40
"""Requests whose lines fill the small pipe."""

TIMEOUT = aiohttp.ClientTimeout(10)


@contextmanager
def small_pipe() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    with pipe() as (source, sink):
        fcntl(sink, F_SETPIPE_SZ, 4096)
        yield source, sink


@contextmanager
def terminal() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    ours, theirs = os.openpty()
    with open(ours, "r+b", buffering=0) as source, open(theirs, "r+b", buffering=0) as sink:
        yield source, sink


async def asked(http: aiohttp.ClientSession) -> list[str]:
    """Send REQUESTS requests, and return their ids in order."""
    ids = []
    for _ in range(REQUESTS):
        async with http.get("/v1/models", timeout=TIMEOUT) as response:
            assert response.status == 200
            ids.append(response.headers["X-Request-Id"])
    return ids


def logged(server: ServerProcess) -> list[str]:
    return re.findall(r"route=/v1/models status=200 request_id=(\w+)", server.log)


async def ended(server: ServerProcess) -> int:
    return await asyncio.to_thread(server.process.wait, 15)


async def test_unread_pipe_delays_neither_answers_nor_stop(tmp_path: Path) -> None:
    async with serving(tmp_path, log_files=small_pipe) as (server, http):
        server.stop_reading_log()
        await asked(http)
        server.process.send_signal(signal.SIGTERM)
        assert await ended(server) == 0


async def test_lines_follow_in_order_once_a_reader_is_back(tmp_path: Path) -> None:
    async with serving(tmp_path, log_files=small_pipe) as (server, http):
        server.stop_reading_log()
        ids = await asked(http)
        server.resume_reading_log()
        server.process.send_signal(signal.SIGTERM)
        assert await server.exit_code() == 0
        assert logged(server) == ids


async def test_stopped_terminal_delays_neither_answers_nor_stop(tmp_path: Path) -> None:
    async with serving(tmp_path, log_files=terminal) as (server, http):
        server.press(CTRL_S)
        ids = await asked(http)
        server.press(CTRL_Q)
        await server.read_log_until(ids[-1])
        assert logged(server) == ids
        server.press(CTRL_S)
        server.process.send_signal(signal.SIGTERM)
        assert await ended(server) == 0


async def test_server_restarts_and_is_killed_while_log_is_unread(tmp_path: Path) -> None:
    async with serving(tmp_path, log_files=small_pipe) as (server, http):
        server.stop_reading_log()
        await asked(http)
        first = server_pid(server.process.pid)
        assert first is not None
        os.kill(first, signal.SIGKILL)
        async with aiohttp.ClientSession(server.url) as fresh, fresh.get("/health", timeout=TIMEOUT) as response:
            assert response.status == 200
        second = server_pid(server.process.pid)
        assert second not in (None, first)
        assert second is not None
        os.kill(second, signal.SIGSTOP)
        server.process.send_signal(signal.SIGINT)
        server.process.send_signal(signal.SIGTERM)
        assert await ended(server) in (128 + signal.SIGINT, 128 + signal.SIGTERM)
