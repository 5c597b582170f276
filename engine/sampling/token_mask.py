"""Which tokens of the vocabulary may come next, for requests whose answer must have a form."""

from collections.abc import Sequence
from typing import Protocol


class TokenMask(Protocol):
    """Follows one answer token by token. It lives beside the scheduler, in one thread, and sees every token once, in
    order, also those that another process produced.

    A request that has one is scheduled when all of its tokens are known: `words` tells of the token behind the last one
    that was accepted. It may be asked for again, when a step was lost.
    """

    def accept(self, token_id: int) -> None:
        """`token_id` has come."""

    def begin(self) -> None:
        """Begin to find what may come behind the tokens that were accepted, without waiting for it.

        The scheduler begins all masks of a step before it asks for one of them, so that none waits for another.
        """

    def words(self) -> bytes:
        """The bits of `engine.sampling.mask_words`. At least one id is allowed."""

    def forced(self) -> Sequence[int]:
        """Ids that must come next, one after the other, as far as that is known: nothing need be computed to choose
        them. They are to be accepted like any others."""

    @property
    def is_ready(self) -> bool:
        """Whether `words` answers at once; the request is not scheduled before. Asked once a step."""

    @property
    def failure(self) -> str | None:
        """Why the answer cannot be brought to its end, in a sentence; None while it can. `words` then allows what ends
        it, and it ends with an error."""
