"""A rank that runs, whatever started it, and the ways to start one."""

from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Protocol

from engine.executor.rank_process import RankOrder
from engine.worker.torch.ranks import MeetingAddress


class RankProcess(Protocol):
    """Process of one rank, with the methods of `multiprocessing.Process`.

    exitcode: None while it runs, or if it is not known.
    """

    @property
    def pid(self) -> int | None:
        """Process id."""

    @property
    def exitcode(self) -> int | None:
        """See the class."""

    def kill(self) -> None:
        """Kill the process, also a frozen one. Raise ValueError after `close`."""

    def join(self, timeout: float | None = None) -> None:
        """Wait until the process has ended, at most `timeout` seconds."""

    def close(self) -> None:
        """Release the process, which has ended."""


@dataclass(frozen=True, slots=True)
class StartedRank:
    """A rank and the connections to it.

    pool_pipe: for its PoolServer; None for a rank that maps the pool itself.
    machine: name of the machine, if there are several.
    """

    process: RankProcess
    pipe: Connection
    pool_pipe: Connection | None = None
    machine: str = ""


class RankStarter(Protocol):
    """A way to start the ranks of one model.

    meeting_place: see RankOrder.
    """

    @property
    def meeting_place(self) -> Path | MeetingAddress:
        """See the class."""

    def start(self, order: RankOrder) -> StartedRank:
        """Start a rank. Ranks are started in order. Raise EngineError."""
