"""The process of one rank: a worker behind a pipe. Spawned by `rank_processes`; it ends when the pipe does."""

import ctypes
import logging
import os
import pickle
import signal
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from logging.handlers import QueueHandler
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock
from typing import Any, Final

from cache_tiers.cpu.shared_pool import SharedPool
from engine.config import EngineConfig
from engine.executor.messages import Answer, Call, Logged, Note, StepEnded, Up
from engine.executor.uniproc import UniProcExecutor
from engine.scheduling.output import ModelRunnerOutput, SchedulerOutput
from engine.worker.loaded_model import LoadedModel
from engine.worker.torch_ranks import TorchRanks
from engine.worker.worker import Worker

_PR_SET_PDEATHSIG: Final = 1


@dataclass(frozen=True, slots=True)
class RankOrder:
    """What a rank's process is started with. parent: id of the process that starts it. meeting_place: see
    `TorchRanks`. log_level: below it nothing is sent to the log."""

    config: EngineConfig
    rank: int
    parent: int
    meeting_place: Path
    log_level: int


class RankServer:
    """Does what comes through the pipe. Calls are answered one by one; steps when they have ended, in their order."""

    def __init__(self, order: RankOrder, send: Callable[[Up], None]) -> None:
        self._order = order
        self._send = send
        self._executor: UniProcExecutor | None = None
        self._worker: Worker | None = None

    def load(self) -> LoadedModel:
        """Meet the others and read this rank's weights."""
        config, rank = self._order.config, self._order.rank
        ranks = TorchRanks(rank, config.tensor_parallel_size, config.device, self._order.meeting_place)
        self._worker = Worker(config, progress=self._progress, ranks=ranks)
        self._executor = UniProcExecutor(self._worker)
        self._executor.call(self._worker.load)
        return self._executor.call(self._worker.describe)

    def init_kv(self, num_blocks: int) -> None:
        """See Worker."""
        assert self._executor is not None
        assert self._worker is not None
        self._executor.call(self._worker.init_kv, num_blocks)

    def attach_host_pool(self, pool: SharedPool) -> None:
        """See Worker."""
        assert self._executor is not None
        assert self._worker is not None
        self._executor.call(self._worker.attach_host_pool, pool.map())

    def answer(self, call: Call) -> Answer:
        """Whatever it raises goes back too."""
        try:
            return Answer(getattr(self, call.method)(*call.arguments))
        except Exception as error:
            logging.getLogger(__name__).debug("%s failed", call.method, exc_info=True)
            return Answer(error=_sendable(error))

    def execute(self, step: SchedulerOutput) -> None:
        """Queue a step."""
        assert self._executor is not None
        future = self._executor.execute(step)
        future.add_done_callback(lambda ended: self._send(self._ended(step.step_id, ended)))

    def _ended(self, step_id: int, future: Future[ModelRunnerOutput]) -> StepEnded:
        error = future.exception()
        if error is not None:
            return StepEnded(step_id, None, _sendable(error))
        output = future.result()
        return StepEnded(step_id, output if self._order.rank == 0 else replace(output, sampled_token_ids={}))

    def _progress(self, sentence: str) -> None:
        if self._order.rank == 0:
            self._send(Note(sentence))


class _PipeLog(QueueHandler):
    """Hands log records over, so that one process formats and writes them."""

    def __init__(self, send: Callable[[Up], None]) -> None:
        super().__init__(None)  # type: ignore[arg-type]
        self._send = send

    def enqueue(self, record: logging.LogRecord) -> None:
        self._send(Logged(record))


def run_rank(order: RankOrder, pipe: Connection) -> None:
    """The life of the process. It has nothing to save, so it ends at once, whatever its threads are doing."""
    _die_with(order.parent)
    # Ctrl-C reaches the whole group of processes; who started us decides when we end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    lock = Lock()

    def send(message: Up) -> None:
        with lock:
            try:
                pipe.send_bytes(pickle.dumps(message, protocol=5))
            except OSError:
                os._exit(1)

    logging.basicConfig(level=order.log_level, format="%(message)s", handlers=[_PipeLog(send)])
    server = RankServer(order, send)
    while True:
        try:
            message: Any = pickle.loads(pipe.recv_bytes())
        except (EOFError, OSError):
            os._exit(0)
        if isinstance(message, SchedulerOutput):
            server.execute(message)
        else:
            send(server.answer(message))


def _die_with(parent: int) -> None:
    """Linux kills us when the thread that started us ends; the pipe tells the others the same, a little later."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(1)


def _sendable(error: BaseException) -> BaseException:
    """Errors with arguments of their own cannot be unpickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
