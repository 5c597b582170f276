"""Executor that runs the worker in this process, on its own threads."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from cache_tiers.cpu.shared_pool import SharedPool
from engine.api.errors import FOR_THE_PROCESS
from engine.executor.step_timing import StepLimit
from engine.executor.workers import WorkersLostError, WorkersState
from engine.request.scheduler_output import ModelRunnerOutput, SchedulerOutput
from engine.worker.adapter_loader import AdapterLoader
from engine.worker.encoder_worker import EncoderWorker
from engine.worker.loaded_model import LoadedModel
from engine.worker.worker import Worker
from models.adapters.adapter import Adapter

P = ParamSpec("P")
T = TypeVar("T")


class UniProcExecutor:
    """Executor with one worker in this process.

    A worker that computes while a step is submitted does so on the model thread, because torch has one set of compute
    threads per calling thread. Another thread waits for results, so that a step can be submitted while the one before
    is computed.
    """

    def __init__(self, worker: Worker | EncoderWorker) -> None:
        self._worker = worker
        self._model = ThreadPoolExecutor(max_workers=1, thread_name_prefix="model")
        self._results = ThreadPoolExecutor(max_workers=1, thread_name_prefix="results")
        self.step_limit = StepLimit()
        self.on_lost: Callable[[], None] = lambda: None

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function`, a method of the worker, on the model thread and wait for its result."""
        return self._model.submit(function, *args, **kwargs).result()

    def load(self) -> LoadedModel:
        """Read the weights and describe the model. Raise what the worker raises."""
        self.call(self._worker.load)
        return self.call(self._worker.describe)

    def load_adapter(self, name: str) -> Adapter:
        """Read an adapter while steps run, and have the worker compute it. Raise what the worker raises."""
        adapters = self._loader()
        read = adapters.read(name)
        return self.call(adapters.add, read)

    def drop_adapter(self, digest: str) -> None:
        """Free an adapter once the steps that were executed so far have ended. No later one may use it."""
        self._results.submit(self._loader().drop, digest).result()

    def _loader(self) -> AdapterLoader:
        assert isinstance(self._worker, Worker), "an encoder has no adapters"
        return self._worker.adapters

    def init_kv(self, num_blocks: int) -> None:
        """Call `Worker.init_kv` on the model thread."""
        self.call(self._worker.init_kv, num_blocks)

    def attach_host_pool(self, pool: memoryview, _shared: SharedPool | None) -> None:
        """Call `Worker.attach_host_pool` on the model thread."""
        self.call(self._worker.attach_host_pool, pool)

    def begin(self) -> None:
        """Do nothing: steps may be executed as soon as the worker is loaded."""

    def execute(self, step: SchedulerOutput) -> Future[ModelRunnerOutput]:
        """Queue a step; steps run in the order of the calls. The future raises what the worker raises."""
        self.step_limit.on_sent()
        future = self._submit(step)
        future.add_done_callback(lambda _: self.step_limit.on_ended())
        return future

    def _submit(self, step: SchedulerOutput) -> Future[ModelRunnerOutput]:
        if not self._worker.computes_elsewhere:
            submitted = self._model.submit(self._worker.submit, step)
            return self._results.submit(lambda: submitted.result()())
        # Filling a few arrays takes less time than waking a thread to do it.
        try:
            return self._results.submit(self._worker.submit(step))
        except FOR_THE_PROCESS:
            raise
        except BaseException as error:
            failed: Future[ModelRunnerOutput] = Future()
            failed.set_exception(error)
            return failed

    def restart(self) -> None:
        """Do nothing: a worker in this process is never lost alone."""

    @property
    def lost(self) -> WorkersLostError | None:
        """Always None: a worker in this process is never lost alone."""
        return None

    @property
    def state(self) -> WorkersState | None:
        """Always None: the worker is in this process, and is lost with it."""
        return None

    @property
    def is_hung(self) -> bool:
        """Whether a step has exceeded its limit. The thread cannot be stopped, and may still write to its buffers."""
        return self.step_limit.is_passed

    def close(self) -> None:
        """Finish the queued steps, release the worker's memory and end the threads.

        If a thread hangs, leave it alone together with the memory that it may write to.
        """
        if self.is_hung:
            self._results.shutdown(wait=False, cancel_futures=True)
            self._model.shutdown(wait=False, cancel_futures=True)
            return
        self._results.shutdown(wait=True)
        self._model.submit(self._worker.close)
        self._model.shutdown(wait=True)
