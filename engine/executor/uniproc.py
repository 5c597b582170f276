"""Runs the worker in this process, on threads of its own."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from cache_tiers.cpu.shared_pool import SharedPool
from engine.errors import FOR_THE_PROCESS
from engine.executor.step_limit import StepLimit
from engine.executor.workers import WorkersState
from engine.scheduling.output import ModelRunnerOutput, SchedulerOutput
from engine.worker.loaded_model import LoadedModel
from engine.worker.worker import Worker

P = ParamSpec("P")
T = TypeVar("T")


class UniProcExecutor:
    """Whatever computes while it is submitted runs on the model thread: torch keeps its compute threads per thread.

    Another thread waits for the results, so that a step can be submitted while the one before is computed.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._model = ThreadPoolExecutor(max_workers=1, thread_name_prefix="model")
        self._results = ThreadPoolExecutor(max_workers=1, thread_name_prefix="results")
        self.step_limit = StepLimit()

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function` (a method of the worker) on the model thread, and wait for it."""
        return self._model.submit(function, *args, **kwargs).result()

    def load(self) -> LoadedModel:
        """Read the weights; raises what the worker raises."""
        self.call(self._worker.load)
        return self.call(self._worker.describe)

    def init_kv(self, num_blocks: int) -> None:
        """See Worker."""
        self.call(self._worker.init_kv, num_blocks)

    def attach_host_pool(self, pool: memoryview, _shared: SharedPool | None) -> None:
        """See Worker."""
        self.call(self._worker.attach_host_pool, pool)

    def begin(self) -> None:
        """Steps may come."""

    def execute(self, step: SchedulerOutput) -> Future[ModelRunnerOutput]:
        """Queue one step; steps run in the order of their calls. The future raises what the worker raised."""
        self.step_limit.sent()
        future = self._submit(step)
        future.add_done_callback(lambda _: self.step_limit.ended())
        return future

    def _submit(self, step: SchedulerOutput) -> Future[ModelRunnerOutput]:
        if not self._worker.computes_elsewhere:
            submitted = self._model.submit(self._worker.submit, step)
            return self._results.submit(lambda: submitted.result()())
        # To fill some arrays takes less time than to wake a thread that does.
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
    def state(self) -> WorkersState | None:
        """None: see Executor."""
        return None

    @property
    def is_hung(self) -> bool:
        """Whether a step takes too long: its thread cannot be stopped, and may still write where it was told to."""
        return self.step_limit.is_passed

    def close(self) -> None:
        """Finish the queued steps, release the worker's memory, end the threads. A thread that hangs is left alone, and
        so is the memory that it may write to."""
        if self.is_hung:
            self._results.shutdown(wait=False, cancel_futures=True)
            self._model.shutdown(wait=False, cancel_futures=True)
            return
        self._results.shutdown(wait=True)
        self._model.submit(self._worker.close)
        self._model.shutdown(wait=True)
