"""Choice of the tier that a block is read from: the one that delivers it first, by measured speed."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Generic, Protocol, TypeVar


@dataclass(frozen=True, slots=True)
class ReadForecast:
    """Expected duration of reads from a tier.

    first_seconds: until a block that is requested now begins to arrive, behind the blocks that wait already.
    block_seconds: from then on, for each block.
    """

    first_seconds: float
    block_seconds: float


class Reader(Protocol):
    """The properties of a tier on which the choice depends."""

    @property
    def available(self) -> bool:
        """Whether reads are attempted at present."""

    @property
    def forecast(self) -> ReadForecast | None:
        """Expected duration of reads; None if the tier's speed was never measured."""

    def num_known(self, keys: Sequence[bytes]) -> int:
        """Return the length of the leading run of `keys` that the tier should hold, without asking it."""


R = TypeVar("R", bound=Reader)


class Readers(Generic[R]):
    """Tiers for the blocks of one load. Each block that was assigned delays the next one of the same tier.

    A tier that was never measured reads a block only if no measured tier has it, the nearest such tier first.
    """

    def __init__(self, tiers: Sequence[R]) -> None:
        """Choose among `tiers`, the nearest first."""
        self._tiers = [each for each in tiers if each.available]
        self._forecasts = [each.forecast for each in self._tiers]
        self._assigned: Counter[int] = Counter()

    def holder_of(self, key: bytes) -> R | None:
        """Return the tier to read `key` from among those that should have it; None if there is none."""
        first = self._first(index for index, each in enumerate(self._tiers) if each.num_known([key]))
        return self._tiers[first] if first is not None else None

    def fastest(self) -> R | None:
        """Return the tier that would deliver any block first; None if none is available."""
        first = self._first(range(len(self._tiers)))
        return self._tiers[first] if first is not None else None

    def assign(self, key: bytes) -> R | None:
        """Return the tier to read `key` from, to which the block then counts; None if none is available.

        If no tier should have the block, the nearest one is asked.
        """
        if not self._tiers:
            return None
        first = None
        if len(self._tiers) > 1:
            first = self._first(index for index, each in enumerate(self._tiers) if each.num_known([key]))
        self._assigned[first or 0] += 1
        return self._tiers[first or 0]

    def _first(self, candidates: Iterable[int]) -> int | None:
        return min(candidates, key=self._seconds, default=None)

    def _seconds(self, index: int) -> float:
        """Return when the next block of a tier would have arrived, in seconds; infinite if that is unknown."""
        forecast = self._forecasts[index]
        if forecast is None:
            return inf
        return forecast.first_seconds + (self._assigned[index] + 1) * forecast.block_seconds
