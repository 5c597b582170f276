"""Loads, one after the other."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cache_tiers.redis.block_commands import Block
from cache_tiers.redis.value import Reject


@dataclass(slots=True, eq=False)
class Load:
    """Some blocks to receive. outcomes: of the first ones, about which the server has said something."""

    blocks: Sequence[Block]
    done: Callable[[list[Reject | bool]], None]
    outcomes: list[Reject | bool] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to receive."""
        return len(self.outcomes) == len(self.blocks)


class LoadLine:
    """Thread-safe. Somebody works on it, or it is empty: who adds the first load has to see to that."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loads: deque[Load] = deque()
        self._is_worked_on = False

    def add(self, load: Load) -> bool:
        """Whether somebody has to begin to work on it now."""
        with self._lock:
            self._loads.append(load)
            begins, self._is_worked_on = not self._is_worked_on, True
            return begins

    def take(self) -> Load | None:
        """The next one, if there is one now."""
        with self._lock:
            return self._loads.popleft() if self._loads else None

    def leave(self) -> bool:
        """No more work on it; False if there is something left."""
        with self._lock:
            self._is_worked_on = bool(self._loads)
            return not self._loads
