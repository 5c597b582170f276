"""Servers under test: `ebb serve` as a child process, started, killed and restarted on the same state."""

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Protocol, Self

import aiohttp

from app.load.client import Generation, LoadClient
from app.logs.log_relay import RELAY_NAME
from bench.workload import history

EBB_SERVE = (str(Path(sys.executable).with_name("ebb")), "serve")
BACKLOG_METRICS = (
    "ebb_kv_unstored_blocks",
    *("ebb_redis_pending_writes", "ebb_redis_write_lag_seconds"),
    *("ebb_disk_pending_writes", "ebb_disk_write_lag_seconds"),
)
_STOP_SECONDS = 20.0
_WARM_UP = history(120, "warm-up", turns=2)


class ServerFailedError(Exception):
    """The server ended, or was not ready in time. Carries the end of its log."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Configuration of a server. `flags` follow the command, and host, port and state directory are added to them."""

    name: str
    flags: tuple[str, ...] = ()


class Process(Protocol):
    """Methods of asyncio.subprocess.Process that EbbServer calls."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    def send_signal(self, signal: int, /) -> None: ...

    def kill(self) -> None: ...

    async def wait(self) -> int: ...


class EbbServer:
    """One server process at a time, on one state directory. Leaving the context ends the process.

    `state_dir` is kept when the process ends; its owner removes it. `command` replaces `ebb serve`.
    """

    def __init__(self, settings: ServerSettings, state_dir: Path, command: Sequence[str] = EBB_SERVE) -> None:
        self.settings = settings
        self._state_dir = state_dir
        self._command = tuple(command)
        self._process: Process | None = None
        self._client: LoadClient | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def client(self) -> LoadClient:
        """Client of the running process, replaced at each start."""
        if self._client is None:
            raise RuntimeError(f"server {self.settings.name!r} is not running")
        return self._client

    @property
    def base_url(self) -> str | None:
        """URL of the running server; None while no server is ready."""
        return self._client.base_url if self._client is not None else None

    @property
    def pid(self) -> int:
        """Process id of the running server process, which `ebb serve` supervises."""
        if self._process is None:
            raise RuntimeError(f"server {self.settings.name!r} is not running")
        return server_pid(self._process.pid) or self._process.pid

    async def start(self, ready_seconds: float = 300.0) -> float:
        """Start, wait for /ready, and answer one unrelated request. Return the seconds to ready.

        That request keeps one-time costs of libraries out of the measurements. Raise ServerFailedError.
        """
        self._state_dir.mkdir(parents=True, exist_ok=True)
        port = free_port()
        # A stand-in for the server keeps no KV.
        kv = ("--disk-kv-dir", str(self._state_dir / "kv")) if self._command == EBB_SERVE else ()
        address = ("--host", "127.0.0.1", "--port", str(port), "--state-dir", str(self._state_dir), *kv)
        began = time.perf_counter()
        with self.log.open("ab") as log:
            self._process = await self._begun((*address, *self.settings.flags), log)
        try:
            await self._wait_ready(f"http://127.0.0.1:{port}/ready", began + ready_seconds)
        except BaseException:
            await self.kill()
            raise
        seconds = time.perf_counter() - began
        self._client = await LoadClient(f"http://127.0.0.1:{port}").__aenter__()
        await self._client.chat(_WARM_UP, Generation(max_tokens=8))
        return seconds

    async def _begun(self, flags: Sequence[str], log: BinaryIO) -> Process:
        return await asyncio.create_subprocess_exec(
            *self._command, *flags, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log
        )

    async def kill(self) -> None:
        """Send SIGKILL: the process gets no chance to save anything."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """Send SIGTERM, then SIGKILL after a timeout. Do nothing if the server is not running."""
        await self._end(signal.SIGTERM)

    async def ended(self) -> int:
        """Wait until the process ends by itself, and return its exit status."""
        assert self._process is not None
        return await self._process.wait()

    async def restart_after_kill(self) -> float:
        """Send SIGKILL and start again on the same state directory. Return the seconds from the start to ready."""
        await self.kill()
        return await self.start()

    def drop_cached_kv(self) -> None:
        """Drop the server's blocks from the page cache, so that they are read from the disk itself."""
        for path in (self._state_dir / "kv").rglob("?" * 64):
            descriptor = os.open(path, os.O_RDONLY)
            try:
                # Only what is on the medium can be dropped.
                os.fsync(descriptor)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)

    async def kill_below_supervisor(self, ready_seconds: float = 60.0) -> None:
        """Send SIGKILL to the server process alone, and wait until its supervising process has started another.

        Raise ServerFailedError.
        """
        if self._process is None:
            raise RuntimeError(f"server {self.settings.name!r} is not running")
        killed, deadline = self.pid, time.perf_counter() + ready_seconds
        os.kill(killed, signal.SIGKILL)
        while server_pid(self._process.pid) in (None, killed):
            if time.perf_counter() > deadline:
                raise ServerFailedError(f"server {self.settings.name!r} was not restarted:\n{self._log_tail()}")
            await asyncio.sleep(0.02)
        await self._wait_ready(f"{self.base_url}/ready", deadline)

    @property
    def log(self) -> Path:
        """File of what the server writes to its standard output and error, over all its starts."""
        return self._state_dir / "server.log"

    async def _end(self, how: signal.Signals) -> None:
        if self._client is not None:
            await self._client.__aexit__(None, None, None)
            self._client = None
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            process.send_signal(how)
        try:
            await asyncio.wait_for(process.wait(), _STOP_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()

    async def _wait_ready(self, url: str, deadline: float) -> None:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5.0)) as session:
            while not await answers_ok(session, url):
                if self._process is None or self._process.returncode is not None:
                    raise ServerFailedError(
                        f"server {self.settings.name!r} exited during its start:\n{self._log_tail()}"
                    )
                if time.perf_counter() > deadline:
                    raise ServerFailedError(f"server {self.settings.name!r} did not become ready:\n{self._log_tail()}")
                await asyncio.sleep(0.05)

    def _log_tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-30:])


async def settle(server: EbbServer, seconds: float = 1.0) -> bool:
    """Wait at most `seconds` until every full block is in every tier. Return whether it is.

    The default is the server's own promise for an idle Redis: a kill may lose blocks that are not written by then.
    """
    return await settle_client(server.client, seconds)


async def settle_client(client: LoadClient, seconds: float) -> bool:
    """Wait like `settle`. If the server requires a key, the client's must be an administrator's."""
    deadline = time.perf_counter() + seconds
    while True:
        metrics = await client.metrics()
        settled = not any(metrics.get(name) for name in BACKLOG_METRICS)
        if settled or time.perf_counter() >= deadline:
            return settled
        await asyncio.sleep(0.02)


async def answers_ok(session: aiohttp.ClientSession, url: str) -> bool:
    """Return whether `url` answers 200."""
    try:
        async with session.get(url) as response:
            return response.status == 200
    except (aiohttp.ClientError, TimeoutError):
        return False


def server_pid(supervisor: int) -> int | None:
    """Return the process id of the server process below `ebb serve`, or None if there is none."""
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    return next((int(child) for child in children if not _is_relay(child)), None)


def _is_relay(child: str) -> bool:
    """Return whether a process relays the log, or has ended."""
    try:
        return Path(f"/proc/{child}/comm").read_text().strip() == RELAY_NAME
    except OSError:
        return True


def free_port() -> int:
    """Return a TCP port that is free on 127.0.0.1."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
