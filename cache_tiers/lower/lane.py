"""A thread of a tier, with its session."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from cache_tiers.lower.backend import TierBackend, TierFaultError, TierRefusedError, TierSession
from cache_tiers.lower.breaker import CircuitBreaker
from cache_tiers.lower.job_queue import JobQueue
from cache_tiers.lower.jobs import Job
from cache_tiers.lower.session_slot import SessionSlot
from cache_tiers.lower.write_gate import WriteGate

logger = logging.getLogger(__name__)

FAULTS: Final = (OSError, TierFaultError)
"""What a session raises if its tier does not work."""


class Lane:
    """A thread that runs and finishes every job of the queue until the queue is closed."""

    def __init__(
        self,
        name: str,
        backend: TierBackend,
        connect: Callable[[], TierSession],
        queue: JobQueue,
        breaker: CircuitBreaker,
        gate: WriteGate,
    ) -> None:
        self._backend = backend
        self._slot = SessionSlot(connect)
        self._queue = queue
        self._breaker = breaker
        self._gate = gate
        self._num_changes = 0
        self._job: Job | None = None
        self._connecting_since: float | None = time.monotonic()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Abort the call in progress, and have the thread end. The queue must already be closed."""
        self._slot.stop()

    def join(self, seconds: float) -> None:
        """Wait for the thread: for as long as it runs a job, otherwise for at most `seconds`."""
        self._thread.join(seconds)
        if self._thread.is_alive() and self._job is not None:
            # The call may still write to memory that is freed after this.
            logger.warning("waiting for %s to end a call", self._backend.description.place)
            self._thread.join()

    def hangs(self, seconds: float) -> bool:
        """Return whether the job in progress, or the first connection, has not moved for `seconds`."""
        job = self._job
        moved_at = job.moved_at if job is not None else self._connecting_since
        return moved_at is not None and time.monotonic() - moved_at > seconds

    def _work(self) -> None:
        # Connecting to a distant tier takes round trips, which no job should have to wait for.
        try:
            self._connect()
        except Exception:
            # The first job tries again, and reports the fault.
            self._slot.disconnect()
        self._connecting_since = None
        while (job := self._queue.take()) is not None:
            job.moved_at = time.monotonic()
            self._job = job
            try:
                if self._breaker.closed and not self._slot.stopping:
                    self._attempt(job)
            except Exception:
                logger.exception("a job of a tier failed unexpectedly")
                self._slot.disconnect()
            self._job = None
            self._queue.done(job)
            try:
                job.finish()
            except Exception:
                logger.exception("the callback of a tier's job failed")
        self._slot.disconnect()

    def _attempt(self, job: Job) -> None:
        """Run the job. A fault of the tier trips the breaker and raises nothing."""
        try:
            if self._num_changes != self._gate.num_changes:
                self._slot.disconnect()
            if self._slot.session is not None and self._run_in_old_session(job, self._slot.session):
                return
            session = self._connect()
            if not self._slot.stopping:
                job.run(session)
        except FAULTS as error:
            self._slot.disconnect()
            if not self._slot.stopping:
                self._breaker.trip(self._backend.describe_fault(error))

    def _connect(self) -> TierSession:
        self._num_changes = self._gate.num_changes
        return self._slot.connect()

    def _run_in_old_session(self, job: Job, session: TierSession) -> bool:
        """Run the job. Return False if a new session is worth a try.

        The tier has ended the old one. Or the tier refuses what it accepted before, and a new session may lead to
        another server, or manage without that.
        """
        try:
            job.run(session)
        except (ConnectionError, TierRefusedError):
            self._slot.disconnect()
            if self._slot.stopping:
                raise
            return False
        return True
