"""The processes of one tensor-parallel group, from their start to their end. None of them outlives another."""

import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Final

from engine.config import EngineConfig
from engine.errors import EngineError
from engine.executor.messages import (
    Answer,
    Call,
    Down,
    LogLine,
    Note,
    Refusal,
    StepEnded,
    Up,
    decode_up,
    encode,
)
from engine.executor.rank_process import RankOrder, run_rank
from engine.worker.loaded_model import LoadedModel

_STRAGGLER_SECONDS: Final = 10.0
"""How long the other ranks may take to fail at what one of them failed at; they may wait for it for ever."""


class RankDiedError(EngineError):
    """A rank's process has ended, or does not go on: the others cannot either."""


class RankProcesses:
    """Spawned when it is made; `close` ends it. All by one thread, which must outlive the processes, but
    for `send` and `end`."""

    def __init__(self, config: EngineConfig, progress: Callable[[str], None]) -> None:
        self._progress = progress
        self._size = config.tensor_parallel_size
        self._folder = Path(tempfile.mkdtemp(prefix="ebb-ranks-"))
        # Spawned and not forked: this process has threads, and perhaps a device.
        context = get_context("spawn")
        level = logging.getLogger().getEffectiveLevel()
        self._pipes: list[Connection] = []
        self._processes = []
        for rank in range(self._size):
            ours, theirs = context.Pipe()
            level_of_rank = level if rank == 0 else max(level, logging.WARNING)
            order = RankOrder(config, rank, os.getpid(), self._folder / "meeting", level_of_rank)
            process = context.Process(target=run_rank, args=(order, theirs), name=f"ebb-rank-{rank}", daemon=True)
            process.start()
            # Else the pipe would stay open when the process ends.
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)

    @property
    def pids(self) -> tuple[int, ...]:
        """By rank."""
        return tuple(process.pid or 0 for process in self._processes)

    def send(self, message: Down) -> None:
        """To every rank; a rank that has died is noticed when its answer is read."""
        frame = encode(message)
        for pipe in self._pipes:
            try:
                pipe.send_bytes(frame)
            except OSError:
                return

    def call(self, call: Call) -> list[LoadedModel | None]:
        """On every rank at once; returns what they answered. Raises EngineError with what the first of them raised, and
        RankDiedError."""
        self.send(call)
        answers: dict[int, LoadedModel | None] = {}
        for rank, message in self._messages():
            if isinstance(message, Refusal):
                raise EngineError(message.error)
            if isinstance(message, Answer):
                answers[rank] = message.model
            if len(answers) == self._size:
                break
        return [answers[rank] for rank in range(self._size)]

    def steps(self) -> Iterator[list[StepEnded]]:
        """What became of each step, by rank, in the order of the steps, until a rank dies: RankDiedError."""
        ended: dict[int, dict[int, StepEnded]] = {}
        limits: dict[int, float] = {}
        for rank, message in self._messages(limits):
            if not isinstance(message, StepEnded):
                continue
            of_step = ended.setdefault(message.step_id, {})
            of_step[rank] = message
            if message.error:
                limits.setdefault(message.step_id, time.monotonic() + _STRAGGLER_SECONDS)
            if len(of_step) == self._size:
                del ended[message.step_id]
                limits.pop(message.step_id, None)
                yield [of_step[rank] for rank in range(self._size)]

    def end(self) -> None:
        """They have nothing to save. By any thread: whoever waits for an answer gets RankDiedError."""
        for process in self._processes:
            # Closed by the other thread, it has ended.
            with suppress(ValueError):
                process.kill()

    def close(self) -> None:
        """When it returns, none of them touches any memory any more."""
        self.end()
        for process in self._processes:
            process.join()
            process.close()
        for pipe in self._pipes:
            pipe.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _messages(self, limits: dict[int, float] | None = None) -> Iterator[tuple[int, Up]]:
        """As they come; log lines go to the log, sentences to `progress`. limits: when to give up waiting."""
        while True:
            timeout = max(0.0, min(limits.values()) - time.monotonic()) if limits else None
            ready = wait(self._pipes, timeout)
            if not ready:
                raise RankDiedError("one rank failed at a step, and the others do not answer")
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

    def _last_words(self, rank: int) -> str:
        process = self._processes[rank]
        process.join(1.0)
        code = process.exitcode
        how = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with code {code}"
        return f"the process of rank {rank} of {self._size} (pid {process.pid}) {how}"
