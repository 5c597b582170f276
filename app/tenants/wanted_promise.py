"""A promise of KV that a client asks for, before it is known how much is reserved for the tenant."""

from dataclasses import dataclass
from math import ceil
from typing import Final

from engine.api.promise import PromiseRequest

_MARGIN: Final = 1 / 8
"""Part of the estimated length by which a promise reaches further, because a mark's place in tokens is estimated."""


@dataclass(frozen=True, slots=True)
class WantedPromise:
    """The beginning of a prompt, whose KV is to be kept.

    share: of the prompt's characters, above 0 and up to 1.
    seconds: time after each use.
    is_stated: whether the client named the time. A client that did not is given a promise where it can be, and learns
        nothing otherwise.
    """

    share: float
    seconds: float
    is_stated: bool

    def request(self, num_tokens: int, reserved: int) -> PromiseRequest | None:
        """Return the request to the engine for a prompt of `num_tokens`, with `reserved` bytes for the tenant."""
        if not (self.is_stated or reserved):
            return None
        most = min(num_tokens, ceil(num_tokens * self.share * (1 + _MARGIN)))
        return PromiseRequest(most, self.seconds, reserved)
