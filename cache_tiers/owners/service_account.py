"""Accounts of start-time fair queueing: how much each name was served for its weight."""

from collections.abc import Callable, Container
from typing import Final, Generic, TypeVar

K = TypeVar("K")

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
