"""Interface of the sources of drafts."""

from collections.abc import Sequence
from typing import Protocol

from engine.request.request import Request


class Proposer(Protocol):
    """Source of guesses about how requests continue. A wrong guess costs time only, never correctness."""

    def propose(self, request: Request, behind: int, most: int) -> Sequence[int]:
        """Propose at most `most` tokens to follow the known tokens and the next `behind` ones; none without a guess.

        Called once per step for each decoding request.

        behind: number of tokens that steps in flight will sample.
        """

    def chance(self, request: Request) -> float:
        """Estimate, from recent tokens, the probability that a proposed token is right if the ones before it are.

        Call after `propose`.
        """
