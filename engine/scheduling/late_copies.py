"""Copies whose step has ended, and whose results have not come yet."""

from collections.abc import Iterable

from cache_tiers.transfer import Direction, TransferJob, TransferResult
from engine.scheduling.output import SchedulerOutput


class LateCopies:
    """Jobs of ended steps that the worker still owes a result for, in a later output.

    A step without tokens ends when all copies have ended. So late copies never outlive one.
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

    def ended(self, step: SchedulerOutput, results: Iterable[TransferResult]) -> None:
        """Note the results that came with a step: the other copies of that step are late."""
        self.failed(step)
        for result in results:
            del self._jobs[result.job_id]
        assert step.num_scheduled_tokens or not self._jobs, "a step without tokens left copies under way"

    def failed(self, step: SchedulerOutput) -> None:
        """Note a step that raised: its output did not come, so all of its copies are late."""
        self._jobs |= {job.job_id: job for job in (*step.loads, *step.stores)}

    def take_all(self) -> list[TransferJob]:
        """Remove all late copies and return them: no result will come."""
        jobs, self._jobs = list(self._jobs.values()), {}
        return jobs
