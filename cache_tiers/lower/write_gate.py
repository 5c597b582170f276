"""Whether a tier accepts writes, which it may refuse while it still serves reads: full, read-only, unable to save."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

logger = logging.getLogger(__name__)

FIRST_WAIT: Final = 1.0
LONGEST_WAIT: Final = 60.0


class WriteGate:
    """A gate that is open while a tier accepts writes. Thread-safe.

    A refused write or probe closes it. A probe that succeeds opens it. After a refused write of a block, which the next
    probe may miss because it is smaller, the gate stays closed for a while: one second at first, and twice as long each
    time until a block is stored.

    num_changes: number of times that the gate was opened or closed. A connection that is older than the last change may
        lead to a server that is no longer the right one.
    """

    def __init__(self, name: str, place: str, clock: Callable[[], float] = time.monotonic) -> None:
        """Create an open gate. name: the tier, for people. place: where it is, for the log."""
        self.num_changes = 0
        self._name = name
        self._place = place
        self._clock = clock
        self._lock = threading.Lock()
        self._refusal = ""
        self._wait = 0.0
        self._opens_at = 0.0

    @property
    def is_open(self) -> bool:
        """Whether writes are attempted."""
        return not self._refusal

    @property
    def refusal(self) -> str:
        """The refused command and its error reply; empty while the gate is open."""
        return self._refusal

    def on_refused(self, refusal: str) -> None:
        """Close the gate after a refused write of a block."""
        with self._lock:
            if not self._refusal:
                self._wait = min(LONGEST_WAIT, 2 * self._wait) if self._wait else FIRST_WAIT
                self._opens_at = self._clock() + self._wait
            self._set(refusal)

    def on_stored(self) -> None:
        """Note that a block was stored."""
        with self._lock:
            self._wait = 0.0

    def on_probe(self, refusal: str) -> None:
        """Open or close the gate after a probe. `refusal` is empty if the probe succeeded."""
        with self._lock:
            if refusal or self._clock() >= self._opens_at:
                self._set(refusal)

    def _set(self, refusal: str) -> None:
        if bool(refusal) != bool(self._refusal):
            self.num_changes += 1
            if refusal:
                logger.warning(
                    "%s refuses writes (%s); blocks are still read from %s", self._name, refusal, self._place
                )
            else:
                logger.info("%s accepts writes again at %s", self._name, self._place)
        self._refusal = refusal
