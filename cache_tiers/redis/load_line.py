"""A queue of loads, received one after another."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cache_tiers.lower.sealed_value import Reject
from cache_tiers.lower.tier import Block


@dataclass(slots=True, eq=False)
class Load:
    """Blocks to receive. `outcomes` holds the server's answers for the first of them."""

    blocks: Sequence[Block]
    done: Callable[[list[Reject | bool]], None]
    outcomes: list[Reject | bool] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        """Whether no block is left to receive."""
        return len(self.outcomes) == len(self.blocks)


class LoadLine:
    """Queued loads. A non-empty line has a worker, which the caller that adds the first load starts. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loads: deque[Load] = deque()
        self._is_worked_on = False

    def add(self, load: Load) -> bool:
        """Queue a load. Return True if the caller must start a worker."""
        with self._lock:
            self._loads.append(load)
            begins, self._is_worked_on = not self._is_worked_on, True
            return begins

    def take(self) -> Load | None:
        """Return the next load; None if the line is empty."""
        with self._lock:
            return self._loads.popleft() if self._loads else None

    def leave(self) -> bool:
        """Stop working on the line. Return False if loads are left, in which case the worker must continue."""
        with self._lock:
            self._is_worked_on = bool(self._loads)
            return not self._loads
