"""The block copies of one step as addresses, for kernels that make them in their place among the computations."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cache_tiers.transfer import TransferJob, TransferResult

Addresses = tuple[int, int]
"""Addresses of the block to read and of the block to write."""


@dataclass(frozen=True, slots=True)
class StepMoves:
    """Copies of a step.

    copies: within the device, made first.
    loads: made before anything is computed.
    stores: made after everything is computed.
    """

    copies: Sequence[Addresses] = ()
    loads: Sequence[Addresses] = ()
    stores: Sequence[Addresses] = ()

    @property
    def count(self) -> int:
        """Number of blocks to move."""
        return len(self.copies) + len(self.loads) + len(self.stores)


NO_MOVES = StepMoves()


class PlannedTransfers:
    """Transfers of one direction with their `addresses`; one that is not possible has failed already."""

    def __init__(self, jobs: Iterable[TransferJob], find: Callable[[TransferJob], Addresses]) -> None:
        """Find the addresses of `jobs`. `find` raises IndexError with the reason for a job that is not possible."""
        self.addresses: list[Addresses] = []
        self._jobs: list[TransferJob] = []
        self._failed: list[TransferResult] = []
        for job in jobs:
            try:
                self.addresses.append(find(job))
            except IndexError as error:
                self._failed.append(TransferResult(job.job_id, 0.0, str(error)))
            else:
                self._jobs.append(job)

    def results(self, seconds: Iterable[float]) -> tuple[TransferResult, ...]:
        """Return the results of all jobs. seconds: duration of the copy of each pair of addresses."""
        moved = (TransferResult(job.job_id, took) for job, took in zip(self._jobs, seconds, strict=True))
        return (*moved, *self._failed)
