"""Who says what may come next."""

from collections.abc import Sequence
from typing import Protocol

from engine.request import Request


class Proposer(Protocol):
    """Guesses how the texts of requests go on. A guess that is wrong costs time and nothing else."""

    def propose(self, request: Request, behind: int, most: int) -> Sequence[int]:
        """At most `most` tokens that may come behind its known tokens and `behind` more, which steps in flight will
        choose; none if there is nothing to guess from. Asked once for each step, of requests that decode."""

    def chance(self, request: Request) -> float:
        """How likely each token that would be proposed for it is right if those before it are, by what came lately;
        to be asked behind `propose`."""
