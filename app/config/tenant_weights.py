"""Weights of tenants, as users write them: `research=2,batch=0.5`."""

from math import isfinite


def parse_weights(text: str) -> dict[str, float]:
    """Parse names and their numbers, which must be above 0. Raises ValueError with the reason."""
    weights: dict[str, float] = {}
    for part in text.split(",") if text.strip() else []:
        name, equals, number = (piece.strip() for piece in part.rpartition("="))
        if not equals or not name:
            raise ValueError(f"{part.strip()!r} is not of the form name=2")
        if name in weights:
            raise ValueError(f"{name} is named twice")
        weights[name] = _weight(name, number)
    return weights


def _weight(name: str, number: str) -> float:
    try:
        weight = float(number)
    except ValueError:
        raise ValueError(f"the weight of {name}, {number!r}, is not a number") from None
    if not (isfinite(weight) and weight > 0):
        raise ValueError(f"the weight of {name} must be above 0")
    return weight
