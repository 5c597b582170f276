"""Results of copies that are split across all ranks."""

from collections.abc import Iterable

from cache_tiers.transfer import TransferResult


class JoinedTransfers:
    """Per-rank results of transfer jobs. A job is complete when every rank has reported its part.

    Ranks may report their parts of one job in the outputs of different steps.
    """

    def __init__(self, num_ranks: int) -> None:
        self._num_ranks = num_ranks
        self._parts: dict[int, list[TransferResult]] = {}

    def add(self, of_rank: Iterable[TransferResult]) -> None:
        """Add the results of one rank, which reports each job once."""
        for part in of_rank:
            self._parts.setdefault(part.job_id, []).append(part)

    def take(self) -> tuple[TransferResult, ...]:
        """Remove and return the joined results of the jobs that all ranks have reported."""
        whole = [job_id for job_id, parts in self._parts.items() if len(parts) == self._num_ranks]
        return tuple(_slowest(self._parts.pop(job_id)) for job_id in whole)

    def clear(self) -> None:
        """Drop all parts, because the missing ones will not be reported."""
        self._parts.clear()


def _slowest(parts: list[TransferResult]) -> TransferResult:
    error = next((part.error for part in parts if part.error is not None), None)
    return TransferResult(parts[0].job_id, max(part.seconds for part in parts), error)
