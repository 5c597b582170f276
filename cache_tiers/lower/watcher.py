"""The thread that asks a tier about itself once a second, and tries it again after a fault."""

import logging
import threading
from collections.abc import Callable

from cache_tiers.lower.backend import TierBackend, TierSession, Usage
from cache_tiers.lower.breaker import CircuitBreaker
from cache_tiers.lower.lane import FAULTS
from cache_tiers.lower.session_slot import SessionSlot
from cache_tiers.lower.write_gate import WriteGate

logger = logging.getLogger(__name__)


class TierWatcher:
    """Source of probes for the breaker, the gate and the meter, and of the tier's figures.

    Construction waits for the first probe, but no longer than a call may take before it counts as a hang.

    hangs: whether a thread waits for the tier without progress. The tier then stays out, whatever it answers to a
        probe.
    """

    def __init__(
        self,
        backend: TierBackend,
        connect: Callable[[], TierSession],
        breaker: CircuitBreaker,
        gate: WriteGate,
        hangs: Callable[[], bool],
    ) -> None:
        self._backend = backend
        self._slot = SessionSlot(connect)
        self._hangs = hangs
        self._gate = gate
        self._breaker = breaker
        self._usage = Usage()
        self._probed = threading.Event()
        tier = backend.description.tier
        self._thread = threading.Thread(target=self._watch, name=f"{tier.id}-watcher", daemon=True)
        self._thread.start()
        if not self._probed.wait(backend.description.hang_seconds):
            breaker.trip(f"{tier.name} does not answer")

    @property
    def usage(self) -> Usage:
        """The answer to the last probe that was answered."""
        return self._usage

    def stop(self) -> None:
        """Abort the call in progress, and have the thread end."""
        self._slot.stop()
        self._breaker.wake()

    def join(self, seconds: float) -> None:
        """Wait for the thread. One that hangs is left behind, since a probe touches no block's memory."""
        self._thread.join(seconds)

    def _watch(self) -> None:
        self._probe()
        self._probed.set()
        while not self._slot.stopping:
            self._breaker.wait_for_probe(self._backend.description.probe_seconds)
            if not self._slot.stopping:
                self._probe()
        self._slot.disconnect()

    def _probe(self) -> None:
        try:
            self._usage = (self._slot.session or self._slot.connect()).usage()
        except FAULTS as error:
            self._slot.disconnect()
            self._breaker.trip(self._backend.describe_fault(error))
            return
        except Exception as error:
            # Without this thread, the tier would never be tried again.
            logger.exception("a probe failed unexpectedly")
            self._slot.disconnect()
            self._breaker.trip(f"a probe failed: {error}")
            return
        if self._hangs():
            return
        self._breaker.close()
        self._gate.on_probe(self._usage.refusal)
        if self._usage.refusal:
            # The place may lead to another server by the next probe.
            self._slot.disconnect()
