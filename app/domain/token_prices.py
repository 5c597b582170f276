"""Prices of tokens, for operators who charge for answers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """Prices of a million tokens.

    currency: ISO 4217 code. input: computed prompt tokens. cached: reused prompt tokens. output: generated tokens.
    """

    currency: str
    input: float
    cached: float
    output: float
