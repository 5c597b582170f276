"""Runs the worker in this process, on one thread of its own."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from engine.scheduling.output import ModelRunnerOutput, SchedulerOutput
from engine.worker.worker import Worker

P = ParamSpec("P")
T = TypeVar("T")


class UniProcExecutor:
    """The model thread is the only one that touches the worker: torch keeps its compute threads per calling thread."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="model")

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function` (a method of the worker) on the model thread, and wait for it."""
        return self._thread.submit(function, *args, **kwargs).result()

    def execute(self, step: SchedulerOutput) -> Future[ModelRunnerOutput]:
        """Queue one step; steps run in the order of their calls. The future raises what the worker raised."""
        return self._thread.submit(self._worker.execute, step)

    def close(self) -> None:
        """Finish the queued steps, release the worker's memory, end the thread."""
        self._thread.submit(self._worker.close)
        self._thread.shutdown(wait=True)
