"""Process of one rank: a worker behind a pipe. Spawned by `rank_processes`, and exits when the pipe closes."""

import logging
import os
import signal
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock, Thread

from engine.api.errors import EngineError
from engine.config import EngineConfig
from engine.executor.far_pool import FarPool
from engine.executor.messages import (
    AttachHostPool,
    Call,
    DropAdapter,
    InitKV,
    Load,
    LoadAdapter,
    LogLine,
    Note,
    Refusal,
    Reply,
    Step,
    StepEnded,
    Up,
    decode_down,
    encode,
)
from engine.executor.uniproc import UniProcExecutor
from engine.process.parent_process import die_with
from engine.request.scheduler_output import ModelRunnerOutput, SchedulerOutput
from engine.worker.torch.ranks import MeetingAddress, TorchRanks
from engine.worker.torch.stage_link import TorchStageLink
from engine.worker.worker import Worker
from models.errors import ModelError
from models.interface.partition import Partition

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RankOrder:
    """Arguments of a rank's process."""

    config: EngineConfig
    partition: Partition
    rank: int
    """Number of the process in `partition`, counted over all stages."""
    parent: int
    """Process id of the parent."""
    meeting_place: Path | MeetingAddress
    """Place at which the ranks find each other (`TorchRanks`)."""
    log_level: int
    """Lowest level of log records that are sent to the parent."""


class RankServer:
    """Handler of the messages of one pipe. Calls are answered one by one, steps when they have ended, in order."""

    def __init__(self, order: RankOrder, send: Callable[[Up], None], pool_pipe: Connection | None = None) -> None:
        """pool_pipe: see `serve_rank`."""
        self._order = order
        self._send = send
        self._pool_pipe = pool_pipe
        self._executor: UniProcExecutor | None = None
        self._block_nbytes = 0
        self._far_pool: FarPool | None = None

    def answer(self, call: Call) -> Reply | Refusal:
        """Execute a call and return its answer. An exception becomes a Refusal."""
        try:
            return self._do(call)
        except Exception as error:
            logger.debug("%s failed", call, exc_info=True)
            return Refusal(_in_words(error))

    def _do(self, call: Call) -> Reply:
        match call:
            case Load():
                self._executor = UniProcExecutor(self._make_worker())
                model = self._executor.load()
                self._block_nbytes = model.block_nbytes
                return Reply(model)
            case InitKV(num_blocks):
                self._loaded().init_kv(num_blocks)
            case AttachHostPool(pool, offsets):
                first = offsets[self._order.rank]
                if self._pool_pipe is not None:
                    self._far_pool = FarPool(self._pool_pipe, pool.nbytes, first, self._block_nbytes)
                memory = self._far_pool.memory if self._far_pool is not None else pool.map()
                self._loaded().attach_host_pool(memory[first:], None)
            case LoadAdapter(name):
                return Reply(adapter=self._loaded().load_adapter(name))
            case DropAdapter(digest):
                self._loaded().drop_adapter(digest)
        return Reply()

    def _make_worker(self) -> Worker:
        config, partition, process = self._order.config, self._order.partition, self._order.rank
        # Ray shows each rank its own device only.
        device_index = 0 if config.parallel.ranks_on_ray else process
        ranks = TorchRanks(process, partition, config.device.kind, self._order.meeting_place, device_index)
        index, _ = partition.place(process)
        stage = partition.stage(index)
        link = TorchStageLink(partition, process) if stage is not None else None
        # On several machines, each stage has separate CPUs.
        on_several = isinstance(self._order.meeting_place, MeetingAddress)
        num_sharers = partition.ranks if on_several else partition.num_processes
        return Worker(config, progress=self._progress, ranks=ranks, stage=stage, link=link, num_sharers=num_sharers)

    def _loaded(self) -> UniProcExecutor:
        if self._executor is None:
            raise EngineError("the model is not loaded")
        return self._executor

    def execute(self, step: SchedulerOutput) -> None:
        """Queue a step; its end is sent through the pipe. Raise OSError or EOFError if the engine is gone."""
        if self._far_pool is not None:
            self._far_pool.prepare(step.loads, step.stores)
        future = self._loaded().execute(step)
        future.add_done_callback(lambda ended: self._send(self._ended(step, ended)))

    def _ended(self, step: SchedulerOutput, future: Future[ModelRunnerOutput]) -> StepEnded:
        error, far_pool, moves_only = future.exception(), self._far_pool, not step.num_scheduled_tokens
        if error is not None:
            logger.error("rank %d failed at step %d", self._order.rank, step.step_id, exc_info=error)
            if far_pool is not None and moves_only:
                far_pool.forget()
            return StepEnded(step.step_id, error=_in_words(error))
        output, is_sampler = future.result(), self._order.rank == self._order.partition.sampler
        if far_pool is not None:
            output = replace(output, transfers=far_pool.settle(output.transfers, wait=moves_only))
        return StepEnded(step.step_id, output if is_sampler else replace(output, sampled_token_ids={}))

    def _progress(self, sentence: str) -> None:
        if self._order.rank == 0:
            self._send(Note(sentence))


class _PipeLog(logging.Handler):
    """Log handler that sends records to the parent, so that only one process writes the log."""

    def __init__(self, send: Callable[[Up], None]) -> None:
        super().__init__()
        self._send = send

    def emit(self, record: logging.LogRecord) -> None:
        self._send(LogLine(record.name, record.levelno, self.format(record)))


def run_rank(order: RankOrder, pipe: Connection) -> None:
    """Run the process of a rank, which was spawned, until the pipe closes."""
    die_with(order.parent)
    # Ctrl-C reaches the whole process group, but the parent decides when this process ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    serve_rank(order, pipe)


def serve_rank(order: RankOrder, pipe: Connection, pool_pipe: Connection | None = None) -> None:
    """Serve one rank on this thread until the pipe closes.

    The process has nothing to save, so it exits at once, whatever its threads are doing.

    pool_pipe: to the PoolServer of a rank on another machine than the engine; None on the same one.
    """
    lock = Lock()

    def send(message: Up) -> None:
        with lock:
            try:
                pipe.send_bytes(encode(message))
            except OSError:
                os._exit(1)

    logging.basicConfig(level=order.log_level, format="%(message)s", handlers=[_PipeLog(send)])
    server = RankServer(order, send, pool_pipe)
    while True:
        try:
            message = decode_down(pipe.recv_bytes())
        except (EOFError, OSError):
            os._exit(0)
        if isinstance(message, Step):
            server.execute(message.output)
        elif isinstance(message, LoadAdapter | DropAdapter):
            # Steps do not wait for the disk, nor the next one for the steps before a drop.
            Thread(target=lambda call: send(server.answer(call)), args=(message,), name="adapters").start()
        else:
            send(server.answer(message))


def _in_words(error: BaseException) -> str:
    return str(error) if isinstance(error, EngineError | ModelError) else f"{type(error).__name__}: {error}"
