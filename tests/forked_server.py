"""`ebb serve` for tests that start it several times, forked from a process that has imported the server and torch."""

import asyncio
import signal
from collections.abc import Sequence
from typing import BinaryIO

import pytest

from app.cli.main import main
from bench.server import EbbServer, Process
from engine.offload.prefill_cost import PrefillCost
from tests.forked_process import ForkedProcess


class ForkedServer(EbbServer):
    """EbbServer whose process is forked.

    The server does not learn how fast it computes, so no load loses against computing on a busy machine.
    """

    async def _begun(self, flags: Sequence[str], log: BinaryIO) -> Process:
        return _Awaited(ForkedProcess(_serve_patiently, ("serve", *flags), stdout=log.fileno(), stderr=log.fileno()))


def _serve_patiently() -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PrefillCost, "seconds", lambda _cost, _start, _stop: None)
        return main()


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
