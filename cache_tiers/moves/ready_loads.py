"""Queue of copies to the device. Each step takes a few from each load in turn, so no load holds up the others."""

from collections import deque
from collections.abc import Iterable
from typing import Final

from cache_tiers.transfer import TransferJob

ASSUMED_BYTES_PER_SECOND: Final = 2e9
"""Initial estimate of the copy speed to the device."""

_NEWEST: Final = 0.2
"""Weight of the newest measurement in the moving average."""


class ReadyLoads:
    """Transfer jobs that no step has taken yet, and an estimate of the seconds per block."""

    def __init__(self, block_nbytes: int) -> None:
        self._jobs: dict[str, deque[TransferJob]] = {}
        self._block_seconds = block_nbytes / ASSUMED_BYTES_PER_SECOND

    def __len__(self) -> int:
        return sum(map(len, self._jobs.values()))

    def add(self, load_id: str, job: TransferJob) -> None:
        """Append `job` to the jobs of the load `load_id`."""
        self._jobs.setdefault(load_id, deque()).append(job)

    def take(self, seconds: float, num_late: int = 0) -> tuple[TransferJob, ...]:
        """Remove and return the jobs that should be copied within `seconds`, taken from each load in turn.

        num_late: number of jobs that were taken earlier and are still being copied. They count against `seconds`. If
            there are none, at least one job is taken.
        """
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
        """Remove and return the jobs of the load `load_id`, whose blocks are no longer needed."""
        return self._jobs.pop(load_id, ())

    def on_copied(self, seconds: float) -> None:
        """Update the speed estimate with the copy of one block, which took `seconds`."""
        self._block_seconds += _NEWEST * (max(seconds, 1e-9) - self._block_seconds)
