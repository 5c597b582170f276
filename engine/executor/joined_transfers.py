"""Results of copies of which every rank makes its part."""

from collections.abc import Iterable

from cache_tiers.transfer import TransferResult


class JoinedTransfers:
    """Parts of results, which ranks report in outputs of different steps. A block has moved when its part has on every
    rank."""

    def __init__(self, num_ranks: int) -> None:
        self._num_ranks = num_ranks
        self._parts: dict[int, list[TransferResult]] = {}

    def add(self, of_rank: Iterable[TransferResult]) -> None:
        """Add what one rank reported; a rank reports each job once."""
        for part in of_rank:
            self._parts.setdefault(part.job_id, []).append(part)

    def take(self) -> tuple[TransferResult, ...]:
        """Remove and return the results that all ranks have reported."""
        whole = [job_id for job_id, parts in self._parts.items() if len(parts) == self._num_ranks]
        return tuple(_slowest(self._parts.pop(job_id)) for job_id in whole)

    def clear(self) -> None:
        """Forget all parts: the ranks will not report the others."""
        self._parts.clear()


def _slowest(parts: list[TransferResult]) -> TransferResult:
    error = next((part.error for part in parts if part.error is not None), None)
    return TransferResult(parts[0].job_id, max(part.seconds for part in parts), error)
