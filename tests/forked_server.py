"""`ebb serve` for tests that start it several times, forked from a process that has imported the server and torch."""

import asyncio
import signal
from collections.abc import Sequence
from typing import BinaryIO

from app.cli.main import main
from bench.server import EbbServer, Process
from tests.forked_process import ForkedProcess


class ForkedServer(EbbServer):
    """EbbServer whose process is forked."""

    async def _begun(self, flags: Sequence[str], log: BinaryIO) -> Process:
        return _Awaited(ForkedProcess(main, ("serve", *flags), stdout=log.fileno(), stderr=log.fileno()))


class _Awaited:
    """A forked process with the methods of asyncio.subprocess.Process."""

    def __init__(self, process: ForkedProcess) -> None:
        self._process = process
        self.pid = process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.poll()

    def send_signal(self, number: int) -> None:
        self._process.send_signal(signal.Signals(number))

    def kill(self) -> None:
        self._process.kill()

    async def wait(self) -> int:
        return await asyncio.to_thread(self._process.wait)
