"""Write lag: what a tier has not acknowledged yet of the blocks that were committed to the CPU tier, or erased."""

import threading
import time
from collections.abc import Callable, Sequence

# LMCache hands over a committed block within milliseconds, seconds if busy, or never if it had the block already.
_HANDOVER_SECONDS = 10.0


class WriteLedger:
    """Blocks in transit to a tier, and erasures. An entry lives from `commit` to `settle`. Thread-safe.

    After `handed_over` the writer must call `settle`. An entry that is not handed over is given up after ten seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._condition = threading.Condition()
        self._since: dict[bytes, float] = {}
        self._unclaimed: dict[bytes, float] = {}
        self._stored = 0
        self._failed = 0
        self._erasures = 0
        self._failed_erasures = 0

    def commit(self, keys: Sequence[bytes]) -> None:
        """Add blocks that have been committed and will be written."""
        now = self._clock()
        with self._condition:
            for key in keys:
                self._since.setdefault(key, now)
                self._unclaimed.setdefault(key, now)

    def handed_over(self, keys: Sequence[bytes]) -> None:
        """Note that the writer has received the blocks and will settle each."""
        now = self._clock()
        with self._condition:
            for key in keys:
                self._since.setdefault(key, now)
                self._unclaimed.pop(key, None)

    def awaits_handover(self, key: bytes) -> bool:
        """Return True if the writer will receive this block at any moment. The bytes must be kept until then."""
        with self._condition:
            since = self._unclaimed.get(key)
            return since is not None and since >= self._clock() - _HANDOVER_SECONDS

    def is_pending(self, key: bytes) -> bool:
        """Return whether a block is in transit."""
        with self._condition:
            self._give_up_unclaimed()
            return key in self._since

    def withdrawn(self, keys: Sequence[bytes]) -> None:
        """Drop blocks that will no longer be handed over. Blocks already handed over stay."""
        with self._condition:
            for key in keys:
                if self._unclaimed.pop(key, None) is not None:
                    del self._since[key]
            self._condition.notify_all()

    def begin_erasure(self) -> None:
        """Count an erasure that was queued. `end_erasure` must follow."""
        with self._condition:
            self._erasures += 1

    def end_erasure(self, *, done: bool) -> None:
        """Note that an erasure was made, or could not be made."""
        with self._condition:
            self._erasures -= 1
            self._failed_erasures += not done
            self._condition.notify_all()

    def settle(self, key: bytes, *, stored: bool) -> None:
        """Remove a block that the tier has acknowledged, or will never receive."""
        with self._condition:
            if stored:
                self._stored += 1
            else:
                self._failed += 1
            self._since.pop(key, None)
            self._condition.notify_all()

    @property
    def pending(self) -> int:
        """Number of blocks in transit."""
        with self._condition:
            self._give_up_unclaimed()
            return len(self._since)

    @property
    def lag_seconds(self) -> float:
        """Age of the oldest block in transit; 0 if there is none."""
        with self._condition:
            self._give_up_unclaimed()
            oldest = min(self._since.values(), default=None)
            return 0.0 if oldest is None else self._clock() - oldest

    @property
    def stored(self) -> int:
        """Blocks that the tier acknowledged, since the start."""
        return self._stored

    @property
    def failed(self) -> int:
        """Blocks that did not reach the tier, since the start."""
        return self._failed

    @property
    def failed_erasures(self) -> int:
        """Erasures that could not be made, since the start."""
        return self._failed_erasures

    def wait_until_empty(self, timeout: float) -> bool:
        """Block until no block is in transit, and no erasure. Return False after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        with self._condition:
            while True:
                self._give_up_unclaimed()
                if not (self._since or self._erasures):
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
