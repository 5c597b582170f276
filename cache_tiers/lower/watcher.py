"""The thread that asks a tier about itself once a second, and tries it again after a fault."""

import logging
import threading

from cache_tiers.lower.backend import TierBackend, TierSession, Usage
from cache_tiers.lower.breaker import CircuitBreaker
from cache_tiers.lower.lane import FAULTS
from cache_tiers.lower.link_speed import LinkMeter
from cache_tiers.lower.write_gate import WriteGate

logger = logging.getLogger(__name__)


class TierWatcher:
    """Source of probes for the breaker, the gate and the meter, and of the tier's figures.

    Construction makes the first probe.
    """

    def __init__(self, backend: TierBackend, breaker: CircuitBreaker, gate: WriteGate, meter: LinkMeter) -> None:
        self._backend = backend
        self._gate = gate
        self._meter = meter
        self._breaker = breaker
        self._session: TierSession | None = None
        self._usage = Usage()
        self._stopping = False
        self._probe()
        name = f"{backend.description.tier.id}-watcher"
        self._thread = threading.Thread(target=self._watch, name=name, daemon=True)
        self._thread.start()

    @property
    def usage(self) -> Usage:
        """The answer to the last probe that was answered."""
        return self._usage

    def stop(self) -> None:
        """End the thread."""
        self._stopping = True
        session = self._session
        if session is not None:
            session.abort()
        self._breaker.wake()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopping:
            self._breaker.wait_for_probe(self._backend.description.probe_seconds)
            if not self._stopping:
                self._probe()
        self._disconnect()

    def _probe(self) -> None:
        try:
            if self._session is None:
                self._session = self._backend.connect(self._meter)
                if not self._stopping:
                    self._session.prepare()
            self._usage = self._session.usage()
        except FAULTS as error:
            self._disconnect()
            self._breaker.trip(self._backend.describe_fault(error))
            return
        except Exception as error:
            # Without this thread, the tier would never be tried again.
            logger.exception("a probe failed unexpectedly")
            self._disconnect()
            self._breaker.trip(f"a probe failed: {error}")
            return
        self._breaker.close()
        self._gate.on_probe(self._usage.refusal)
        if self._usage.refusal:
            # The place may lead to another server by the next probe.
            self._disconnect()

    def _disconnect(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None
