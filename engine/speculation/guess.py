"""A guess about how a request continues, and the interface of what makes guesses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, get_args

from engine.request.request import Request

DraftSource = Literal["prompt", "phrase", "model"]
"""Where the tokens of a draft come from: the request's own text, an earlier answer of its tenant, or a draft model."""
DRAFT_SOURCES: Final[tuple[DraftSource, ...]] = get_args(DraftSource)


@dataclass(frozen=True, slots=True)
class Guess:
    """Tokens that may follow.

    token_ids: empty without a guess.
    chance: probability, estimated from recent tokens, that a token is right if the ones before it are. Also given
        without a guess, for the next one.
    """

    token_ids: Sequence[int]
    chance: float
    source: DraftSource


class Proposer(Protocol):
    """Source of guesses that cost nothing. A wrong guess costs time only, never correctness."""

    def propose(self, request: Request, behind: int, most: int) -> Guess:
        """Guess at most `most` tokens to follow the known tokens and the next `behind` ones.

        Called once per step for each decoding request.

        behind: number of tokens that steps in flight will sample.
        """
