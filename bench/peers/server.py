"""Server of any make as a child process, which is suspended while others are measured."""

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
    """Command line and properties of a server.

    command: command line in which "{port}" is replaced by the port.
    ready_path: path that answers 200 once requests are served.
    kv_bytes: memory for KV that the command reserves.
    environment: variables added to those of this process.
    """

    command: tuple[str, ...]
    ready_path: str
    kv_bytes: int
    environment: Mapping[str, str] = field(default_factory=dict)


class PeerServer:
    """One running server in its own process group, so that all of its processes can be suspended and resumed.

    `log` is the file for its output.
    """

    def __init__(self, name: str, launch: Launch, log: Path) -> None:
        self.name = name
        self.launch = launch
        self._log = log
        self._process: asyncio.subprocess.Process | None = None
        self._client: LoadClient | None = None

    @property
    def client(self) -> LoadClient:
        """Client of the running server, replaced at each start."""
        if self._client is None:
            raise RuntimeError(f"{self.name} is not running")
        return self._client

    async def start(self, ready_seconds: float = 900.0) -> float:
        """Start, wait until ready, and return the seconds that took. Raise ServerFailedError."""
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
        """Send SIGTERM, then SIGKILL to the whole group. Do nothing if the server is not running."""
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
        """Suspend all of the server's processes, because an idle engine may spin. Do nothing if none is running."""
        if self._process is not None:
            _signal_group(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Undo `freeze`."""
        if self._process is not None:
            _signal_group(self._process.pid, signal.SIGCONT)

    def rss_bytes(self) -> int | None:
        """Return the resident memory of all processes, or None if the server has ended by itself.

        Shared pages count once per process.
        """
        try:
            top = psutil.Process(self._running().pid)
            return sum(int(each.memory_info().rss) for each in (top, *top.children(recursive=True)))
        except psutil.NoSuchProcess:
            return None

    def _running(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise RuntimeError(f"{self.name} is not running")
        return self._process

    async def _wait_ready(self, url: str, deadline: float) -> None:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5.0)) as session:
            while not await answers_ok(session, url):
                if self._running().returncode is not None:
                    raise ServerFailedError(f"{self.name} exited during its start:\n{self._log_tail()}")
                if time.perf_counter() > deadline:
                    raise ServerFailedError(f"{self.name} did not become ready:\n{self._log_tail()}")
                await asyncio.sleep(0.02)

    def _log_tail(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-30:])


def _signal_group(group: int, which: signal.Signals) -> None:
    try:
        os.killpg(group, which)
    except ProcessLookupError:
        # The group's last process has ended.
        return
