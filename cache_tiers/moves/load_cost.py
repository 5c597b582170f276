"""The cost of a load, and the point at which recomputing is cheaper: pure functions of measurements."""

from dataclasses import dataclass
from typing import Final

from cache_tiers.lower.link_speed import LinkSpeed

FIRST_WINDOW: Final = 8
"""Blocks of a window as long as the link's speed is unknown."""

WINDOW_SECONDS: Final = 0.016
QUESTIONS_OF_WINDOW: Final = 2

_GRACE: Final = 0.02
_SURPRISE: Final = 2.0
_DOUBT: Final = 1.25
_TRUST: Final = 0.25


@dataclass(frozen=True, slots=True)
class LoadCost:
    """Cost of loading blocks from a lower tier. Blocks in host memory cost next to nothing.

    block_nbytes: bytes of a block.
    deadline: seconds without an arrival, beyond the expected ones, after which a load ends.
    """

    block_nbytes: int
    deadline: float = 2.0

    def window(self, speed: LinkSpeed | None, most: int) -> int:
        """Return how many blocks to fetch at once, at most `most`.

        Small windows overlap copies with transfers, and waste little when a load ends early. Large windows keep the
        link from idling between requests.
        """
        if speed is None or speed.bytes_per_second is None or speed.answer_seconds is None:
            return min(FIRST_WINDOW, most)
        seconds = max(WINDOW_SECONDS, QUESTIONS_OF_WINDOW * speed.answer_seconds)
        return max(1, min(most, round(seconds * speed.bytes_per_second / self.block_nbytes)))

    def load_seconds(self, speed: LinkSpeed | None, num_blocks: int, *, known: bool) -> float | None:
        """Estimate the seconds to load `num_blocks` blocks; None if the link's speed is unknown.

        known: the blocks do not have to be looked up first.
        """
        if speed is None:
            return None
        return speed.seconds_for(num_blocks * self.block_nbytes, 1 if known else QUESTIONS_OF_WINDOW)

    def worth_waiting(
        self,
        speed: LinkSpeed | None,
        num_blocks: int,
        *,
        known: bool,
        asked: float,
        waited: float,
        compute_seconds: float | None,
    ) -> bool:
        """Return True if a load should keep waiting for its remaining `num_blocks` blocks.

        A load is abandoned for one of two reasons. Loading the remaining blocks may be expected to take longer than
        computing them. Or the wait may be far longer than expected, and long compared with computing the blocks, so
        that the expectation is no longer credible.

        known: the blocks do not have to be looked up first.
        asked: seconds since the first of them was requested.
        waited: seconds without an arrival.
        compute_seconds: time to compute the blocks; None if unknown, which leaves only `deadline`.
        """
        transfer, answers = 0.0, 0.0
        if speed is not None and speed.bytes_per_second:
            transfer = num_blocks * self.block_nbytes / speed.bytes_per_second
        if speed is not None and speed.answer_seconds is not None:
            answers = speed.answer_seconds * (1 if known else QUESTIONS_OF_WINDOW)
        expected = transfer + answers
        if compute_seconds is None:
            return waited <= self.deadline + expected
        if transfer + max(0.0, answers - asked) > _DOUBT * compute_seconds:
            return False
        return waited <= min(self.deadline + expected, max(_GRACE, _SURPRISE * expected, _TRUST * compute_seconds))
