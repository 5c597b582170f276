"""Prices of tokens in the settings."""

import pytest

from app.config.token_prices import parse_token_prices
from app.domain.token_prices import TokenPrices


def test_prices_are_read_in_any_order() -> None:
    prices = parse_token_prices("output=2, input=0.5 ,cached=0,currency=EUR")
    assert prices == TokenPrices("EUR", input=0.5, cached=0.0, output=2.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("currency=EUR,input=1,output=2", "cached is missing"),
        ("currency=EUR,input=1,cached=1,output=2,fee=3", "fee is none of currency"),
        ("currency=euro,input=1,cached=1,output=2", "'euro' is not a code of three capital letters"),
        ("currency=EUR,input=free,cached=1,output=2", "input='free' is not a number"),
        ("currency=EUR,input=1,cached=-1,output=2", "cached=-1 must be 0 or more"),
        ("currency=EUR,input=1,cached=1,output=inf", "output=inf must be 0 or more"),
    ],
)
def test_wrong_prices_are_refused_with_the_reason(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_token_prices(text)
