"""Executor that runs a model in several processes, one per rank, and restarts them when one dies or hangs."""

import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Final

from cache_tiers.cpu.shared_pool import SharedPool
from engine.api.errors import EngineError
from engine.config import EngineConfig
from engine.executor.joined_transfers import JoinedTransfers
from engine.executor.messages import (
    AttachHostPool,
    Call,
    DropAdapter,
    InitKV,
    Load,
    LoadAdapter,
    Refusal,
    Reply,
    Step,
    StepEnded,
)
from engine.executor.rank_processes import RankProcesses
from engine.executor.step_timing import StepLimit
from engine.executor.workers import WorkersLostError, WorkersState
from engine.process.restart_budget import RestartBudget
from engine.request.scheduler_output import ModelRunnerOutput, SchedulerOutput
from engine.worker.loaded_model import LoadedModel, of_all_processes
from models.adapters.adapter import Adapter
from models.errors import UnsupportedModelError
from models.interface.partition import Partition
from models.registry import check_split, split_layers

BACKOFF_SECONDS: Final = (0.0, 1.0, 4.0)
"""Pause before each restart of the ranks. More losses within `RESTART_SECONDS` end in failure."""
RESTART_SECONDS: Final = 600.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Pending:
    """A step in flight and the future of its result."""

    step: SchedulerOutput
    future: Future[ModelRunnerOutput]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A call while steps run. answers: those that have come, by rank."""

    future: Future[list[Reply | Refusal]] = field(default_factory=Future)
    answers: dict[int, Reply | Refusal] = field(default_factory=dict)


class MultiprocExecutor:
    """Executor of a model that is divided among processes.

    partition: the division. Ranks are counted over all stages here.

    Call `load`, then `init_kv`, then `attach_host_pool` if there are tiers, then `begin`. After that, steps may be
    executed.

    One thread spawns the processes and reads their messages, because they die with the thread that spawned them.

    When a rank dies or hangs, all ranks are killed, and every step in flight fails with the same WorkersLostError.
    Later steps fail with it too until `restart` is called, because the scheduler must first learn that the device is
    empty. Steps after `restart` wait for the new processes.

    on_lost: called on the thread of the ranks when they have been lost.
    """

    def __init__(self, config: EngineConfig, progress: Callable[[str], None]) -> None:
        """Check that the model can be split. Processes are started by `load`.

        progress: called with a sentence about each long operation.

        Raise EngineError if the model cannot be split as `config` says, ModelError if it cannot be read.
        """
        self.partition = _partition(config)
        self._config = config
        self._progress = progress
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ranks")
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._processes: RankProcesses | None = None
        self._num_blocks = 0
        self._offsets: list[int] = []
        self._pool: tuple[memoryview, SharedPool] | None = None
        self._pending: OrderedDict[int, _Pending] = OrderedDict()
        self._busy_seconds = [0.0] * self.partition.num_processes
        self._transfers = JoinedTransfers(self.partition.num_processes)
        self._unsent: deque[SchedulerOutput] | None = deque()
        self._lost: WorkersLostError | None = None
        self._adapters = dict[str, Adapter]()
        self._asked: _Asked | None = None
        self.on_lost: Callable[[], None] = lambda: None
        self._restarts = RestartBudget(BACKOFF_SECONDS, RESTART_SECONDS)
        self._num_restarts = 0
        self._last_loss = ""
        self._has_failed = False

    # Startup

    def load(self) -> LoadedModel:
        """Spawn the ranks and read the weights. Raise EngineError with the message of the first rank that failed."""
        model = self._thread.submit(self._load, self._config, self._progress).result()
        self._adapters = {each.name: each for each in model.adapters}
        return model

    def _load(self, config: EngineConfig, progress: Callable[[str], None]) -> LoadedModel:
        self._processes = RankProcesses(config, self.partition, progress)
        if self._closing.is_set():
            self._processes.end()
        logger.info("running the model in %d processes: %s", len(self._processes.pids), self._processes.pids)
        parts = [model for model in self._processes.call(Load()) if model is not None]
        *self._offsets, _ = accumulate((part.block_nbytes for part in parts), initial=0)
        return of_all_processes(parts, self.partition)

    def init_kv(self, num_blocks: int) -> None:
        """Call `Worker.init_kv` on every rank."""
        self._num_blocks = num_blocks
        self._thread.submit(self._call, InitKV(num_blocks)).result()

    def attach_host_pool(self, pool: memoryview, shared: SharedPool | None) -> None:
        """Attach the CPU tier's memory on every rank.

        The ranks of this machine map it by the name in `shared`, which must be set.
        """
        assert shared is not None
        self._pool = (pool, shared)
        self._thread.submit(self._attach, pool, shared).result()

    def _attach(self, pool: memoryview, shared: SharedPool) -> None:
        assert self._processes is not None
        self._processes.serve_pool(pool)
        self._processes.call(AttachHostPool(shared, tuple(self._offsets)))

    # Adapters

    def load_adapter(self, name: str) -> Adapter:
        """Have all ranks read an adapter while steps run.

        Raise EngineError with the message of the first rank that failed, WorkersLostError if the workers are lost.
        """
        answers = self._ask(LoadAdapter(name))
        read = {each.adapter for each in answers if isinstance(each, Reply) and each.adapter is not None}
        refusals = [each.error for each in answers if isinstance(each, Refusal)]
        if len(read) == 1 and not refusals:
            (adapter,) = read
            self._adapters[name] = adapter
            return adapter
        for digest in {each.digest for each in read}.difference(each.digest for each in self._adapters.values()):
            self._ask(DropAdapter(digest))
        raise EngineError(refusals[0] if refusals else "the processes of the model read different adapters")

    def drop_adapter(self, digest: str) -> None:
        """Have all ranks free an adapter after the steps that were executed so far. No later one may use it.

        Workers that are lost have freed it, and their successors do not read it.
        """
        self._adapters = {name: each for name, each in self._adapters.items() if each.digest != digest}
        with suppress(WorkersLostError):
            self._ask(DropAdapter(digest))

    def _ask(self, call: Call) -> list[Reply | Refusal]:
        """Call all ranks while steps run, one call at a time. Raise WorkersLostError if they are lost."""
        asked = _Asked()
        with self._lock:
            if self._lost is not None:
                raise self._lost
            if self._processes is None or self._unsent is not None:
                raise WorkersLostError("the processes of the model are restarting")
            self._asked = asked
            self._processes.send(call)
        return asked.future.result()

    def _take_answer(self, rank: int, answer: Reply | Refusal) -> None:
        asked = self._asked
        assert asked is not None
        asked.answers[rank] = answer
        if len(asked.answers) == self.partition.num_processes:
            self._asked = None
            asked.future.set_result([asked.answers[each] for each in sorted(asked.answers)])

    def begin(self) -> None:
        """Start to serve steps."""
        self._thread.submit(self._serve)

    def _call(self, call: Call) -> None:
        assert self._processes is not None
        self._processes.call(call)

    # Steps

    def execute(self, step: SchedulerOutput) -> Future[ModelRunnerOutput]:
        """Queue a step; steps run in the order of the calls.

        The future raises EngineError if a worker raised, WorkersLostError if the workers were lost.
        """
        future: Future[ModelRunnerOutput] = Future()
        with self._lock:
            if self._lost is not None:
                future.set_exception(self._lost)
                return future
            self._pending[step.step_id] = _Pending(step, future)
            if self._unsent is not None:
                self._unsent.append(step)
            else:
                assert self._processes is not None
                self._processes.send(Step(step))
        return future

    def _serve(self) -> None:
        """Send queued steps and read results until a rank dies or hangs. Runs on the thread of the ranks."""
        assert self._processes is not None
        with self._lock:
            unsent, self._unsent = self._unsent, None
            for step in unsent or ():
                self._processes.send(Step(step))
        try:
            for ended in self._processes.steps(self._take_answer):
                with self._lock:
                    pending = self._pending.pop(ended[0].step_id)
                self._settle(pending, ended)
        except Exception as error:  # whatever it is: no caller may wait for a step forever
            self._lose(str(error))

    def _settle(self, pending: _Pending, ended: list[StepEnded]) -> None:
        """Set the result of a step. Transfers are included once all ranks have reported them."""
        outputs = [rank.output for rank in ended if rank.output is not None]
        for output in outputs:
            self._transfers.add(output.transfers)
        for rank, each in enumerate(ended):
            self._busy_seconds[rank] += each.output.seconds if each.output is not None else 0.0
        error = next((rank.error for rank in ended if rank.error), "")
        if not error:
            # The passes begin on the first stage and end on the last one.
            result = replace(outputs[self.partition.sampler], started=outputs[0].started)
            pending.future.set_result(replace(result, transfers=self._transfers.take()))
            return
        if not pending.step.num_scheduled_tokens:
            # A step without tokens ends after all transfers, so no rank reports an earlier transfer after that.
            self._transfers.clear()
        pending.future.set_exception(EngineError(error))

    def _lose(self, reason: str) -> None:
        with self._lock:
            processes, self._processes = self._processes, None
            # Steps that are queued while the processes end are never sent, and fail with the others.
            self._unsent = deque()
        if processes is not None:
            # Close before failing any step: the failures free the host blocks that the ranks may still be using.
            processes.close()
        if not self._closing.is_set():
            logger.error("%s; requests in progress will be recomputed", reason)
        with self._lock:
            self._last_loss = reason
            self._lost = WorkersLostError(f"the workers were lost: {reason}")
            self._unsent = None
            lost, self._pending = self._pending, OrderedDict()
            asked, self._asked = self._asked, None
        self._transfers.clear()
        for pending in lost.values():
            pending.future.set_exception(self._lost)
        if asked is not None:
            asked.future.set_exception(self._lost)
        if not self._closing.is_set():
            self.on_lost()

    # Restart

    def restart(self) -> None:
        """Start new workers, which know no request, and accept steps for them.

        Raise EngineError if the workers were lost too often.
        """
        delay = self._restarts.spend(time.monotonic())
        if delay is None:
            self._has_failed = True
            raise EngineError(
                f"the workers were lost {self._restarts.most + 1} times within {self._restarts.seconds:g} s, the last "
                f"time because {self._last_loss}"
            )
        with self._lock:
            self._num_restarts += 1
            self._lost, self._unsent = None, deque()
        self._thread.submit(self._start_again, delay)

    def _start_again(self, delay: float) -> None:
        if self._closing.wait(delay):
            return
        logger.info("restarting %d worker processes", self.partition.num_processes)
        try:
            self._load_again()
            self._call(InitKV(self._num_blocks))
            if self._pool is not None:
                self._attach(*self._pool)
        except Exception as error:  # whatever a start raises counts as one more loss
            self._lose(f"the workers could not be restarted: {error}")
        else:
            logger.info("the worker processes are running again")
            self._serve()

    def _load_again(self) -> None:
        """Load what the former workers had. Raise EngineError if an adapter has another content now."""
        adapters = self._adapters
        read = self._load(self._config.with_fields(adapters=tuple(adapters)), logger.info).adapters
        if changed := [name for name, each in adapters.items() if each not in read]:
            raise EngineError(f"the files of the adapter {changed[0]!r} have changed since it was loaded")

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids by rank; empty between two starts."""
        processes = self._processes
        return processes.pids if processes is not None else ()

    @property
    def lost(self) -> WorkersLostError | None:
        """The loss of the workers, until `restart`; None if they are not lost."""
        with self._lock:
            return self._lost

    @property
    def step_limit(self) -> StepLimit | None:
        """None: this executor kills ranks that hang."""
        return None

    @property
    def is_hung(self) -> bool:
        """False: this executor kills ranks that hang."""
        return False

    @property
    def state(self) -> WorkersState:
        """State of the workers, for monitoring."""
        with self._lock:
            computes = self._lost is None and self._unsent is None
            return WorkersState(
                state="failed" if self._has_failed else "ok" if computes else "starting",
                pids=self.pids or (None,) * self.partition.num_processes,
                restarts=self._num_restarts,
                last_loss=self._last_loss,
                busy_seconds=tuple(self._busy_seconds),
            )

    def close(self) -> None:
        """Kill the processes. Steps in flight are lost."""
        self._closing.set()
        processes = self._processes
        if processes is not None:
            processes.end()
        self._thread.shutdown(wait=True)
        if self._processes is not None:
            self._processes.close()


def _partition(config: EngineConfig) -> Partition:
    ranks, stages = config.parallel.tensor_parallel_size, config.parallel.pipeline_parallel_size
    try:
        check_split(config.model.path, ranks, config.device.kind)
    except UnsupportedModelError as error:
        raise EngineError(f"--tensor-parallel-size {ranks}: {error}") from error
    try:
        layers = split_layers(config.model.path, stages) if stages > 1 else ()
    except UnsupportedModelError as error:
        raise EngineError(f"--pipeline-parallel-size {stages}: {error}") from error
    return Partition(ranks, layers)
