"""Interface to the tokens that may come next, for requests whose answer must have a form."""

from collections.abc import Sequence
from typing import Protocol

from engine.api.outputs import FormVerdict


class TokenMask(Protocol):
    """The tokens that one answer allows next. Used on the scheduler's thread.

    A mask receives every token of the answer once, in order, including tokens from another process. A request whose
    mask is awake is scheduled only when all its tokens are known: `words` applies after the last accepted token. After
    a lost step, `words` may be read again.

    While a mask is asleep, every token may come, and tokens are sampled before the mask has seen those before them. The
    token that wakes the mask is the last one that counts: those drawn behind it are drawn again.
    """

    @property
    def is_asleep(self) -> bool:
        """Whether every token may come now. Only `accept` wakes a mask; it may fall asleep at any time."""

    def accept(self, token_id: int) -> None:
        """Advance by the answer's next token."""

    def begin(self) -> None:
        """Begin to compute the tokens allowed after the accepted ones, without blocking.

        The scheduler begins all masks of a step before it requests one of them, so that none waits for another.
        """

    def words(self) -> bytes:
        """Return the allowed ids in the bits of `engine.sampling.masks`. At least one id is allowed."""

    def forced(self) -> Sequence[int]:
        """Return the ids that must come next, as far as they are known. No computation is needed to choose them.

        The caller accepts them like any other token.
        """

    def verdict(self, text: str) -> FormVerdict | None:
        """Check the text of a complete answer against the keywords of its form that no mask enforces.

        Return None if the masks enforce all of them.
        """

    @property
    def is_ready(self) -> bool:
        """Whether `words` returns at once. Otherwise the request is not scheduled. Read once per step."""

    @property
    def failure(self) -> str | None:
        """Reason why the answer cannot be completed, in a sentence; None while it can.

        `words` then allows only tokens that end the answer, which ends with an error.
        """
