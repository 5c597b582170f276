"""What a load costs, and when it is no longer worth its wait: pure functions of what was measured."""

from dataclasses import dataclass
from typing import Final

from cache_tiers.link_speed import LinkSpeed

FIRST_WINDOW: Final = 8
"""Blocks of a window while nothing is known of the link."""

WINDOW_SECONDS: Final = 0.016
QUESTIONS_OF_WINDOW: Final = 2

_GRACE: Final = 0.02
_SURPRISE: Final = 2.0
_DOUBT: Final = 1.25
_TRUST: Final = 0.25


@dataclass(frozen=True, slots=True)
class LoadCost:
    """Of blocks of `block_nbytes` that come from Redis. What lies in host memory costs next to nothing.

    deadline: seconds without any arrival, on top of what was to be expected, after which a load has ended.
    """

    block_nbytes: int
    deadline: float = 2.0

    def window(self, speed: LinkSpeed | None, most: int) -> int:
        """Blocks to fetch at once, at most `most`: few, so that copies and transfers overlap and little is lost when a
        load ends early; enough that the link does not wait for questions."""
        if speed is None or speed.bytes_per_second is None or speed.answer_seconds is None:
            return min(FIRST_WINDOW, most)
        seconds = max(WINDOW_SECONDS, QUESTIONS_OF_WINDOW * speed.answer_seconds)
        return max(1, min(most, round(seconds * speed.bytes_per_second / self.block_nbytes)))

    def redis_seconds(self, speed: LinkSpeed | None, num_blocks: int, *, known: bool) -> float | None:
        """Until so many blocks are here. known: they need not be looked up first. None: nobody can tell yet."""
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
        """Whether to go on with a load that lacks `num_blocks`, the first of which were asked for `asked` seconds ago,
        and of which nothing came for `waited` seconds. known: they need not be looked up first.

        Two reasons not to: what is left should take longer than computing it; or it has taken much longer than it
        should, for a good part of what computing takes, so that the expectation is worth nothing.
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
