"""Processes that share one model, from start to end. None of them outlives another."""

import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from math import inf
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Final, Protocol

from engine.config import EngineConfig
from engine.errors import EngineError
from engine.executor.frame_sender import FrameSender
from engine.executor.messages import (
    Call,
    Down,
    LogLine,
    Note,
    Refusal,
    Reply,
    Step,
    StepEnded,
    Up,
    decode_up,
    encode,
)
from engine.executor.rank_process import RankOrder, run_rank
from engine.executor.step_limit import StepLimit
from engine.worker.loaded_model import LoadedModel
from models.partition import Partition

CALL_SECONDS: Final = 1800.0
"""Time limit of a call. Starting and reading the weights takes a long time on a slow disk."""
_STRAGGLER_SECONDS: Final = 10.0
"""Time limit for the other ranks once one rank has failed at a step, because they may wait for it forever."""


class RankDiedError(EngineError):
    """A rank's process has ended or hangs, so the other ranks cannot continue."""


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


StartRank = Callable[[RankOrder], tuple[RankProcess, Connection]]
"""Function that starts a rank, and returns it with the pipe to it. Raises EngineError."""


def spawn_rank(order: RankOrder) -> tuple[RankProcess, Connection]:
    """Start a rank as a plain process, which lives as long as this thread."""
    # Spawn, not fork: this process has threads, and perhaps an open device.
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=run_rank, args=(order, theirs), name=f"ebb-rank-{order.rank}", daemon=True)
    process.start()
    # Otherwise the pipe would stay open after the process ends.
    theirs.close()
    return process, ours


def _starter(config: EngineConfig) -> StartRank:
    if not config.ranks_on_ray:
        return spawn_rank
    # Imported here, since Ray is an extra.
    from engine.executor.ray_ranks import start_ray_rank

    return start_ray_rank


class RankProcesses:
    """A group of processes, started by the constructor and ended by `close`.

    All methods but `send` and `end` must be called on one thread, which must outlive the processes.

    pids: process ids by rank.
    """

    def __init__(self, config: EngineConfig, partition: Partition, progress: Callable[[str], None]) -> None:
        self._progress = progress
        self._size = partition.num_processes
        self._limit = StepLimit()
        self._folder = Path(tempfile.mkdtemp(prefix="ebb-ranks-"))
        level = logging.getLogger().getEffectiveLevel()
        start_rank = _starter(config)
        self._pipes: list[Connection] = []
        self._processes: list[RankProcess] = []
        for rank in range(self._size):
            level_of_rank = level if rank == 0 else max(level, logging.WARNING)
            order = RankOrder(config, partition, rank, os.getpid(), self._folder / "meeting", level_of_rank)
            process, pipe = start_rank(order)
            self._pipes.append(pipe)
            self._processes.append(process)
        self._sender = FrameSender(self._pipes)
        self.pids: Final = tuple(process.pid or 0 for process in self._processes)

    def send(self, message: Down) -> None:
        """Send `message` to every rank without waiting; a rank that has died is noticed when its answer is read."""
        frame = encode(message)
        if isinstance(message, Step):
            self._limit.on_sent()
        self._sender.send(frame)

    def call(self, call: Call) -> list[LoadedModel | None]:
        """Call every rank and return the answers by rank.

        Raises EngineError with the message of the first rank that raised, RankDiedError if a rank died or did not
        answer in time.
        """
        self.send(call)
        answers: dict[int, LoadedModel | None] = {}
        passes_at = time.monotonic() + CALL_SECONDS
        for rank, message in self._messages(lambda: passes_at):
            if isinstance(message, Refusal):
                raise EngineError(message.error)
            if isinstance(message, Reply):
                answers[rank] = message.model
            if len(answers) == self._size:
                return [answers[rank] for rank in range(self._size)]
        raise RankDiedError(f"{self._all_but(answers)} did not start within {CALL_SECONDS:g} s")

    def steps(self) -> Iterator[list[StepEnded]]:
        """Yield the results of each step by rank, in the order of the steps.

        Raises RankDiedError when a rank dies or hangs.
        """
        ended: dict[int, dict[int, StepEnded]] = {}
        stragglers: dict[int, float] = {}
        for rank, message in self._messages(lambda: min(self._limit.passes_at(), *stragglers.values(), inf)):
            if not isinstance(message, StepEnded):
                continue
            of_step = ended.setdefault(message.step_id, {})
            of_step[rank] = message
            if message.error:
                stragglers.setdefault(message.step_id, time.monotonic() + _STRAGGLER_SECONDS)
            if len(of_step) == self._size:
                del ended[message.step_id]
                stragglers.pop(message.step_id, None)
                self._limit.on_ended()
                yield [of_step[rank] for rank in range(self._size)]
        if stragglers:
            raise RankDiedError("one rank failed at a step, and the others do not answer")
        oldest = next(iter(ended.values()), {})
        raise RankDiedError(f"{self._all_but(oldest)} did not answer a step within {self._limit.seconds:g} s")

    def end(self) -> None:
        """Kill the processes, which have nothing to save. Safe on any thread: pending calls raise RankDiedError."""
        for process in self._processes:
            # A process that the other thread has closed already raises ValueError.
            with suppress(ValueError):
                process.kill()

    def close(self) -> None:
        """Kill the processes and wait for them. After that, none of them accesses shared memory."""
        self.end()
        for process in self._processes:
            process.join()
            process.close()
        self._sender.close()
        for pipe in self._pipes:
            pipe.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _messages(self, passes_at: Callable[[], float]) -> Iterator[tuple[int, Up]]:
        """Yield messages with their rank until no message is ready at the time `passes_at`.

        Log lines are written to the log, and notes go to `progress`. Raises RankDiedError when a pipe closes.
        """
        while True:
            ready = wait(self._pipes, max(0.0, passes_at() - time.monotonic()))
            if not ready and time.monotonic() >= passes_at():
                return
            for pipe in ready:
                assert isinstance(pipe, Connection)
                rank = self._pipes.index(pipe)
                try:
                    message = decode_up(pipe.recv_bytes())
                except (EOFError, OSError):
                    raise RankDiedError(self._last_words(rank)) from None
                match message:
                    case LogLine(name, level, text):
                        logging.getLogger(name).log(level, "%s", text)
                    case Note(sentence):
                        self._progress(sentence)
                    case _:
                        yield rank, message

    def _all_but(self, answered: Collection[int]) -> str:
        missing = [f"rank {rank} (pid {pid})" for rank, pid in enumerate(self.pids) if rank not in answered]
        return f"{' and '.join(missing)} of {self._size}"

    def _last_words(self, rank: int) -> str:
        process = self._processes[rank]
        process.join(1.0)
        code = process.exitcode
        how = "ended" if code is None else f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        return f"the process of rank {rank} of {self._size} (pid {process.pid}) {how}"
