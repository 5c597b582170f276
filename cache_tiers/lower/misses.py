"""Reasons why no tier below CPU memory delivered a block."""

from dataclasses import dataclass
from enum import Enum

from cache_tiers.tier import TierId


class TierMissReason(Enum):
    """Reason why no tier below CPU memory delivered a block. `{tier}` stands for the name of a tier."""

    OFF = "no tier below CPU memory is on"
    SKIPPED = "{tier} was skipped"
    NO_ANSWER = "{tier} did not answer"
    GONE = "no longer in {tier}: evicted, expired or deleted"
    UNKNOWN_KEY = "not in {tier}: evicted, expired, deleted, or never written by a model with the same numerics"
    UNWRITTEN = "{tier} did not take the block when it was to be written"
    DROPPED = "evicted from CPU memory unwritten: a block of a stateless call is written once a request finds it"
    REJECTED = "the value in {tier} was rejected"
    NOT_TAKEN = "the CPU tier had no room for the block"


ABSENT = (TierMissReason.GONE, TierMissReason.UNKNOWN_KEY)
"""Reasons that mean that the tier answered and did not have the block."""


@dataclass(frozen=True, slots=True)
class TierMiss:
    """Reason why a block was not delivered.

    detail: further information in words, possibly empty.
    tier: name of the tier; empty if the reason concerns none.
    gone_from: tiers that answered that they do not have the block.
    """

    reason: TierMissReason
    detail: str = ""
    tier: str = ""
    gone_from: tuple[TierId, ...] = ()

    @property
    def text(self) -> str:
        """The reason in words."""
        words = self.reason.value.format(tier=self.tier)
        return f"{words}: {self.detail}" if self.detail else words
