"""Weights of tenants, as users write them: `research=2,batch=0.5`."""

from math import isfinite

from app.config.named_values import named_values


def parse_weights(text: str) -> dict[str, float]:
    """Parse names and their numbers, which must be above 0. Raise ValueError with the reason."""
    return {name: _weight(name, number) for name, number in named_values(text, "name=2").items()}


def _weight(name: str, number: str) -> float:
    try:
        weight = float(number)
    except ValueError:
        raise ValueError(f"the weight of {name}, {number!r}, is not a number") from None
    if not (isfinite(weight) and weight > 0):
        raise ValueError(f"the weight of {name} must be above 0")
    return weight
