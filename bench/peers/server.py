"""A server of any make as a child process: started, weighed, and stopped in its tracks while others are measured."""

import asyncio
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import psutil  # type: ignore[import-untyped]

from app.load.client import LoadClient
from bench.server import ServerFailedError, answers_ok, free_port

_PORT = "{port}"
_STOP_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Launch:
    """How a server is started. "{port}" in the command becomes the port; `environment` is added to this process's.

    ready_path: what answers 200 once requests are served. kv_bytes: memory for KV that the command reserves.
    """

    command: tuple[str, ...]
    ready_path: str
    kv_bytes: int
    environment: Mapping[str, str] = field(default_factory=dict)


class PeerServer:
    """One running server in a process group of its own, so that all of its processes can be stopped and continued.

    log: where its output goes.
    """

    def __init__(self, name: str, launch: Launch, log: Path) -> None:
        self.name = name
        self.launch = launch
        self._log = log
        self._process: asyncio.subprocess.Process | None = None
        self._client: LoadClient | None = None

    @property
    def client(self) -> LoadClient:
        """The client of the running server; another one after each start."""
        if self._client is None:
            raise RuntimeError(f"{self.name} does not run")
        return self._client

    async def start(self, ready_seconds: float = 900.0) -> float:
        """Start and wait until it is ready; returns the seconds that took. Raises ServerFailedError."""
        port = free_port()
        began = time.perf_counter()
        with self._log.open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(part.replace(_PORT, str(port)) for part in self.launch.command),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, **self.launch.environment},
            )
        address = f"http://127.0.0.1:{port}"
        try:
            await self._wait_ready(address + self.launch.ready_path, began + ready_seconds)
        except BaseException:
            await self.stop()
            raise
        seconds = time.perf_counter() - began
        self._client = await LoadClient(address).__aenter__()
        return seconds

    async def stop(self) -> None:
        """SIGTERM, then SIGKILL to the whole group. Does nothing if the server does not run."""
        if self._client is not None:
            await self._client.__aexit__(None, None, None)
            self._client = None
        process, self._process = self._process, None
        if process is None:
            return
        _signal_group(process.pid, signal.SIGCONT)
        if process.returncode is None:
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), _STOP_SECONDS)
        except TimeoutError:
            pass
        finally:
            _signal_group(process.pid, signal.SIGKILL)
            await process.wait()

    def freeze(self) -> None:
        """Take the processor away from all of its processes: an idle engine may spin. Nothing if none runs."""
        if self._process is not None:
            _signal_group(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Undo `freeze`."""
        if self._process is not None:
            _signal_group(self._process.pid, signal.SIGCONT)

    def rss_bytes(self) -> int | None:
        """Resident memory of all of its processes, pages that they share for each; None if it has ended by itself."""
        try:
            top = psutil.Process(self._running().pid)
            return sum(int(each.memory_info().rss) for each in (top, *top.children(recursive=True)))
        except psutil.NoSuchProcess:
            return None

    def _running(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise RuntimeError(f"{self.name} does not run")
        return self._process

    async def _wait_ready(self, url: str, deadline: float) -> None:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5.0)) as session:
            while not await answers_ok(session, url):
                if self._running().returncode is not None:
                    raise ServerFailedError(f"{self.name} ended at its start:\n{self._log_tail()}")
                if time.perf_counter() > deadline:
                    raise ServerFailedError(f"{self.name} is not ready:\n{self._log_tail()}")
                await asyncio.sleep(0.02)

    def _log_tail(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-30:])


def _signal_group(group: int, which: signal.Signals) -> None:
    try:
        os.killpg(group, which)
    except ProcessLookupError:
        # Its last process has ended.
        return
