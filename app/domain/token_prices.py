"""Prices of tokens, for operators who charge for answers."""

from dataclasses import dataclass
from typing import Final

PRICED_TOKENS: Final = 1_000_000
"""Number of tokens that a price is for."""


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """Prices of a million tokens.

    currency: ISO 4217 code. input: computed prompt tokens. cached: reused prompt tokens. output: generated tokens.
    """

    currency: str
    input: float
    cached: float
    output: float
