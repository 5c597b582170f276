"""The blocks that were committed to the CPU tier and that Redis has not acknowledged yet: the write lag."""

import threading
import time
from collections.abc import Callable, Sequence

# LMCache hands a committed block on within milliseconds, seconds if it is busy, or never (it was there already).
_HANDOVER_SECONDS = 10.0


class WriteLedger:
    """Thread-safe. An entry lives from `committed` to `settled`.

    `handed_over` tells that somebody now owes a `settled`; an entry without it is given up after ten seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._condition = threading.Condition()
        self._since: dict[bytes, float] = {}
        self._unclaimed: dict[bytes, float] = {}
        self._stored = 0
        self._failed = 0

    def committed(self, keys: Sequence[bytes]) -> None:
        """These blocks are on their way from now on."""
        now = self._clock()
        with self._condition:
            for key in keys:
                self._since.setdefault(key, now)
                self._unclaimed.setdefault(key, now)

    def handed_over(self, keys: Sequence[bytes]) -> None:
        """The writer has them: each will be settled."""
        now = self._clock()
        with self._condition:
            for key in keys:
                self._since.setdefault(key, now)
                self._unclaimed.pop(key, None)

    def awaits_handover(self, key: bytes) -> bool:
        """Whether the writer will be given this block any moment: its bytes must stay until then."""
        with self._condition:
            since = self._unclaimed.get(key)
            return since is not None and since >= self._clock() - _HANDOVER_SECONDS

    def withdrawn(self, keys: Sequence[bytes]) -> None:
        """These will not be handed over any more, unless they were."""
        with self._condition:
            for key in keys:
                if self._unclaimed.pop(key, None) is not None:
                    del self._since[key]
            self._condition.notify_all()

    def settled(self, key: bytes, *, stored: bool) -> None:
        """Redis acknowledged the block, or will never get it."""
        with self._condition:
            if stored:
                self._stored += 1
            else:
                self._failed += 1
            self._since.pop(key, None)
            self._condition.notify_all()

    @property
    def pending(self) -> int:
        """Blocks on their way."""
        with self._condition:
            self._give_up_unclaimed()
            return len(self._since)

    @property
    def lag_seconds(self) -> float:
        """Age of the oldest block on its way; 0 when there is none."""
        with self._condition:
            self._give_up_unclaimed()
            oldest = min(self._since.values(), default=None)
            return 0.0 if oldest is None else self._clock() - oldest

    @property
    def stored(self) -> int:
        """Blocks that Redis acknowledged, since the start."""
        return self._stored

    @property
    def failed(self) -> int:
        """Blocks that did not reach Redis, since the start."""
        return self._failed

    def wait_until_empty(self, timeout: float) -> bool:
        """Block until nothing is on its way; False if that took longer than `timeout` seconds."""
        deadline = time.monotonic() + timeout
        with self._condition:
            while True:
                self._give_up_unclaimed()
                if not self._since:
                    return True
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._condition.wait(min(left, _HANDOVER_SECONDS) if self._unclaimed else left)

    def _give_up_unclaimed(self) -> None:
        limit = self._clock() - _HANDOVER_SECONDS
        for key in [key for key, since in self._unclaimed.items() if since < limit]:
            del self._unclaimed[key]
            self._since.pop(key, None)
            self._failed += 1
