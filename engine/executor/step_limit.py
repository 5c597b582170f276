"""How long the ranks may take for a step before they are taken for hung."""

import time
from collections import deque
from collections.abc import Callable
from typing import Final

LEAST_SECONDS: Final = 300.0
"""The first steps on a device compile and connect for minutes, and a chunk of a prompt on a CPU may take one."""
TIMES_SLOWEST: Final = 20.0
"""As a step is bounded, none takes that many times as long as the slowest one did."""


class StepLimit:
    """Watches the steps of one start of the ranks, which run one behind the other. `sent` may be called by any thread,
    the rest by the one that reads the answers."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sent: deque[float] = deque()
        self._last_ended = clock()
        self._slowest = 0.0

    @property
    def seconds(self) -> float:
        """For one step."""
        return max(LEAST_SECONDS, TIMES_SLOWEST * self._slowest)

    def sent(self) -> None:
        """One more step is under way."""
        self._sent.append(self._clock())

    def ended(self) -> None:
        """The oldest step has ended on all ranks."""
        began = max(self._sent.popleft(), self._last_ended)
        self._last_ended = self._clock()
        self._slowest = max(self._slowest, self._last_ended - began)

    @property
    def is_passed(self) -> bool:
        """Whether a step is under way that takes too long."""
        return bool(self._sent) and self._clock() >= self.passes_at()

    def passes_at(self) -> float:
        """When the oldest step takes too long. With none under way: when one that is sent now would, so that whoever
        sleeps until then need not be woken for it."""
        try:
            began = max(self._sent[0], self._last_ended)
        except IndexError:
            # Another thread may take the last one away at any moment.
            began = self._clock()
        return began + self.seconds
