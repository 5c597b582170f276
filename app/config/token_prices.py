"""Prices of tokens, as users write them: `currency=EUR,input=0.2,cached=0.02,output=0.8`."""

import re
from math import isfinite
from typing import Final

from app.config.named_values import named_values
from app.domain.token_prices import TokenPrices

NAMES: Final = ("currency", "input", "cached", "output")
_CURRENCY: Final = re.compile(r"[A-Z]{3}")


def parse_token_prices(text: str) -> TokenPrices:
    """Parse the prices of a million tokens. Raise ValueError with the reason."""
    given = named_values(text, "output=0.8")
    if unknown := [name for name in given if name not in NAMES]:
        raise ValueError(f"{unknown[0]} is none of {', '.join(NAMES)}")
    if missing := [name for name in NAMES if name not in given]:
        raise ValueError(f"{missing[0]} is missing")
    if _CURRENCY.fullmatch(given["currency"]) is None:
        raise ValueError(f"the currency {given['currency']!r} is not a code of three capital letters, such as EUR")
    return TokenPrices(given["currency"], *(_price(name, given[name]) for name in NAMES[1:]))


def _price(name: str, number: str) -> float:
    try:
        price = float(number)
    except ValueError:
        raise ValueError(f"the price {name}={number!r} is not a number") from None
    if not (isfinite(price) and price >= 0):
        raise ValueError(f"the price {name}={number} must be 0 or more")
    return price
