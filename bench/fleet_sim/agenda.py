"""Simulated time: events in order."""

import heapq
import itertools
from collections.abc import Callable


class Agenda:
    """Events by their time.

    now: seconds since the start of the simulation.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def at(self, time: float, event: Callable[[], None]) -> None:
        """Call `event` at `time`, or now if that has passed. Events of one time happen in the order of these calls."""
        heapq.heappush(self._events, (max(time, self.now), next(self._numbers), event))

    def run(self, until: float = float("inf")) -> None:
        """Let events happen until there are none, or until `until`."""
        while self._events and self._events[0][0] <= until:
            self.now, _, event = heapq.heappop(self._events)
            event()
