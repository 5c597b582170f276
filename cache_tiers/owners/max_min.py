"""Weighted max-min division of a whole number of things, such as tokens, microseconds or bytes."""

from collections.abc import Callable, Mapping
from typing import TypeVar

K = TypeVar("K")


def fair_shares(room: int, wanted: Mapping[K, int], weight: Callable[[K], float]) -> dict[K, int]:
    """Divide `room` by weighted max-min fairness, and return the share of each key of `wanted`.

    None gets more than it wants, and the others share the surplus. Each that wants something gets at least one, if
    there is one for each. Keys are served in ascending order of demand over weight, in which demands are satisfied.
    """
    shares: dict[K, int] = {}
    weights = {key: weight(key) for key in wanted}
    left, weight_left = room, sum(weights.values())
    order = sorted(wanted, key=lambda key: wanted[key] / weights[key])
    for num_after, key in zip(reversed(range(len(order))), order, strict=True):
        fair = max(1, min(round(left * weights[key] / weight_left), left - num_after))
        shares[key] = min(wanted[key], fair, left)
        left -= shares[key]
        weight_left -= weights[key]
    return shares
