"""Fair division by weight: parts of an amount (max-min), and turns of a service (start-time accounts)."""

from collections.abc import Callable, Container, Mapping
from typing import Final, Generic, TypeVar

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


FEWEST: Final = 64
"""Number of accounts that are kept in any case."""


class ServiceAccounts(Generic[K]):
    """The level of each name: the service that it received, divided by its weight. The lowest level is served next.

    A name that starts to wait is raised to the level that its user names, so that idleness earns no credit. An account
    that is no higher, and whose name does not wait, therefore makes no difference and is forgotten. The number of
    accounts thus follows the number of names that wait, and of those that are ahead of them.
    """

    def __init__(self, weight: Callable[[K], float]) -> None:
        self._weight = weight
        self._levels: dict[K, float] = {}
        self._forgotten = 0.0
        self._forget_at = FEWEST

    def __len__(self) -> int:
        return len(self._levels)

    def level(self, name: K) -> float:
        """Return the level of `name`. A forgotten name has the level at which it was forgotten, or a higher one."""
        return self._levels.get(name, self._forgotten)

    def join(self, name: K, at_least: float) -> None:
        """Raise the level of `name`, which starts to wait."""
        self._levels[name] = max(self.level(name), at_least)

    def charge(self, name: K, amount: float) -> None:
        """Count `amount` of service for `name`."""
        self._levels[name] = self.level(name) + amount / self._weight(name)

    def forget(self, level: float, waiting: Container[K]) -> None:
        """Forget names that are not in `waiting` and have at most `level`, to which all that join are raised now.

        The level must not fall from call to call. Most calls do nothing, so the cost per name is constant.
        """
        if len(self._levels) <= self._forget_at:
            return
        self._forgotten = max(self._forgotten, level)
        self._levels = {name: own for name, own in self._levels.items() if own > level or name in waiting}
        self._forget_at = FEWEST + 2 * len(self._levels)

    def reset(self) -> None:
        """Forget all names, of which none waits."""
        self._levels, self._forgotten, self._forget_at = {}, 0.0, FEWEST
