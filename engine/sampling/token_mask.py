"""Which tokens of the vocabulary may come next, for requests whose answer must have a form."""

from typing import Protocol


class TokenMask(Protocol):
    """Follows one answer token by token. It lives beside the scheduler, in one thread, and sees every token once, in
    order, also those that another process produced.

    A request that has one is scheduled when all of its tokens are known: `words` tells of the token behind the last one
    that was accepted. It may be asked for again, when a step was lost.
    """

    def accept(self, token_id: int) -> None:
        """`token_id` has come."""

    def words(self) -> bytes:
        """The bits of `engine.sampling.mask_words`. At least one id is allowed."""
