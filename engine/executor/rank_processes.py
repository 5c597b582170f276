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
from typing import Final

from engine.api.errors import EngineError
from engine.config import EngineConfig
from engine.executor.far_pool import PoolServer
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
from engine.executor.started_rank import RankStarter, StartedRank
from engine.executor.step_timing import StepLimit
from engine.worker.loaded_model import LoadedModel
from models.interface.partition import Partition

CALL_SECONDS: Final = 1800.0
"""Time limit of a call. Starting and reading the weights takes a long time on a slow disk."""
_STRAGGLER_SECONDS: Final = 10.0
"""Time limit for the other ranks once one rank has failed at a step, because they may wait for it forever."""


class RankDiedError(EngineError):
    """A rank's process has ended or hangs, so the other ranks cannot continue."""


class SpawnedRanks:
    """Ranks as plain processes, which live as long as the thread that starts them. Satisfies RankStarter."""

    def __init__(self, folder: Path) -> None:
        """folder: empty, and of this user only."""
        self.meeting_place: Final = folder / "meeting"

    def start(self, order: RankOrder) -> StartedRank:
        """See RankStarter."""
        # Spawn, not fork: this process has threads, and perhaps an open device.
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=run_rank, args=(order, theirs), name=f"ebb-rank-{order.rank}", daemon=True)
        process.start()
        # Otherwise the pipe would stay open after the process ends.
        theirs.close()
        return StartedRank(process, ours)


def _meeting_folder() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="ebb-ranks-"))
    except OSError as error:
        raise EngineError(
            f"the processes of the model have no folder to meet in ({error.strerror}): "
            "free some space, or set TMPDIR to a folder that can be written"
        ) from error


def _starter(config: EngineConfig, partition: Partition, folder: Path) -> RankStarter:
    if not config.parallel.ranks_on_ray:
        return SpawnedRanks(folder)
    # Imported here, since Ray is an extra.
    from engine.executor.ray_ranks import RayRanks

    return RayRanks(partition, folder)


class RankProcesses:
    """A group of processes, started by the constructor and ended by `close`.

    All methods but `send` and `end` must be called on one thread, which must outlive the processes.

    pids: process ids by rank.
    """

    def __init__(self, config: EngineConfig, partition: Partition, progress: Callable[[str], None]) -> None:
        self._progress = progress
        self._size = partition.num_processes
        self._limit = StepLimit()
        self._folder = _meeting_folder()
        level = logging.getLogger().getEffectiveLevel()
        # The starter holds the store at which ranks on several machines meet.
        self._starter = _starter(config, partition, self._folder)
        self._ranks: list[StartedRank] = []
        for rank in range(self._size):
            level_of_rank = level if rank == 0 else max(level, logging.WARNING)
            order = RankOrder(config, partition, rank, os.getpid(), self._starter.meeting_place, level_of_rank)
            self._ranks.append(self._starter.start(order))
        self._pipes = [rank.pipe for rank in self._ranks]
        self._sender = FrameSender(self._pipes)
        self._pool_servers: list[PoolServer] = []
        self.pids: Final = tuple(rank.process.pid or 0 for rank in self._ranks)

    def serve_pool(self, pool: memoryview) -> None:
        """Serve the CPU tier's pool to the ranks that cannot map it, until `close`."""
        self._pool_servers = [PoolServer(rank.pool_pipe, pool) for rank in self._ranks if rank.pool_pipe is not None]

    def send(self, message: Down) -> None:
        """Send `message` to every rank without waiting; a rank that has died is noticed when its answer is read."""
        frame = encode(message)
        if isinstance(message, Step):
            self._limit.on_sent()
        self._sender.send(frame)

    def call(self, call: Call) -> list[LoadedModel | None]:
        """Call every rank and return the answers by rank.

        Raise EngineError with the message of the first rank that raised, RankDiedError if a rank died or did not
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

    def steps(self, on_answer: Callable[[int, Reply | Refusal], None]) -> Iterator[list[StepEnded]]:
        """Yield the results of each step by rank, in the order of the steps.

        on_answer: receives the rank and the answer to a call that was sent while steps run.

        Raise RankDiedError when a rank dies or hangs.
        """
        ended: dict[int, dict[int, StepEnded]] = {}
        stragglers: dict[int, float] = {}
        for rank, message in self._messages(lambda: min(self._limit.passes_at(), *stragglers.values(), inf)):
            if isinstance(message, Reply | Refusal):
                on_answer(rank, message)
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
        for rank in self._ranks:
            # A process that the other thread has closed already raises ValueError.
            with suppress(ValueError):
                rank.process.kill()

    def close(self) -> None:
        """Kill the processes and wait for them. After that, none of them accesses shared memory."""
        self.end()
        for rank in self._ranks:
            rank.process.join()
            rank.process.close()
        for server in self._pool_servers:
            server.close()
        self._sender.close()
        for pipe in self._pipes:
            pipe.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _messages(self, passes_at: Callable[[], float]) -> Iterator[tuple[int, Up]]:
        """Yield messages with their rank until no message is ready at the time `passes_at`.

        Log lines are written to the log, and notes go to `progress`. Raise RankDiedError when a pipe closes.
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
        missing = [f"rank {rank} ({self._place(rank)})" for rank in range(self._size) if rank not in answered]
        return f"{' and '.join(missing)} of {self._size}"

    def _place(self, rank: int) -> str:
        machine = self._ranks[rank].machine
        return f"pid {self.pids[rank]}" + (f" on {machine}" if machine else "")

    def _last_words(self, rank: int) -> str:
        process = self._ranks[rank].process
        process.join(1.0)
        code = process.exitcode
        end = "ended" if code is None else f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        return f"the process of rank {rank} of {self._size} ({self._place(rank)}) {end}"
