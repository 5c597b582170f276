"""Copies that are still in flight after their step has ended."""

from collections.abc import Iterable

from cache_tiers.transfer import Direction, TransferJob, TransferResult
from engine.request.scheduler_output import SchedulerOutput


class LateCopies:
    """Jobs of ended steps whose results the worker will report in a later output.

    A step without tokens ends only when all copies have ended, so no copy is late after such a step.
    """

    def __init__(self) -> None:
        self._jobs: dict[int, TransferJob] = {}

    def __len__(self) -> int:
        return len(self._jobs)

    @property
    def num_loads(self) -> int:
        """Late copies to the device."""
        return sum(job.direction is Direction.LOAD for job in self._jobs.values())

    @property
    def num_stores(self) -> int:
        """Late copies to host memory."""
        return len(self._jobs) - self.num_loads

    def on_results(self, step: SchedulerOutput, results: Iterable[TransferResult]) -> None:
        """Record the end of `step`, whose output carried `results`. Copies of the step without a result become late."""
        self.on_failure(step)
        for result in results:
            del self._jobs[result.job_id]
        assert step.num_scheduled_tokens or not self._jobs, "a step without tokens left copies in flight"

    def on_failure(self, step: SchedulerOutput) -> None:
        """Record that `step` raised. Without an output, all of its copies are late."""
        self._jobs |= {job.job_id: job for job in (*step.loads, *step.stores)}

    def take_all(self) -> list[TransferJob]:
        """Remove and return all late copies, because no more results will arrive."""
        jobs, self._jobs = list(self._jobs.values()), {}
        return jobs
