"""Copies up that wait for a step: a few in each, of every load in turn, so that a long load does not hold up others."""

from collections import deque
from collections.abc import Iterable
from typing import Final

from cache_tiers.transfer import TransferJob

ASSUMED_BYTES_PER_SECOND: Final = 2e9
"""Speed of copies to the device until one was measured."""

_NEWEST: Final = 0.2


class ReadyLoads:
    """Jobs that no step has taken yet, and what the taken ones cost."""

    def __init__(self, block_nbytes: int) -> None:
        self._jobs: dict[str, deque[TransferJob]] = {}
        self._block_seconds = block_nbytes / ASSUMED_BYTES_PER_SECOND

    def __len__(self) -> int:
        return sum(map(len, self._jobs.values()))

    def add(self, load_id: str, job: TransferJob) -> None:
        """Queue a copy of the load `load_id` behind its others."""
        self._jobs.setdefault(load_id, deque()).append(job)

    def take(self, seconds: float, num_late: int = 0) -> tuple[TransferJob, ...]:
        """Take as many jobs as should be copied within `seconds`, from each load in turn. The copies of `num_late`
        jobs that were taken before have not ended; without them, at least one is taken."""
        most = max(1, int(seconds / self._block_seconds)) - num_late
        taken: list[TransferJob] = []
        while self._jobs and len(taken) < most:
            load_id = next(iter(self._jobs))
            jobs = self._jobs.pop(load_id)
            taken.append(jobs.popleft())
            if jobs:
                self._jobs[load_id] = jobs
        return tuple(taken)

    def drop(self, load_id: str) -> Iterable[TransferJob]:
        """Remove the jobs of a load and return them: its blocks are not wanted any more."""
        return self._jobs.pop(load_id, ())

    def copied(self, seconds: float) -> None:
        """Learn what the copy of a block took."""
        self._block_seconds += _NEWEST * (max(seconds, 1e-9) - self._block_seconds)
