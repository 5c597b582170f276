"""Queue of work for the worker threads: reads before writes, one worker kept free for reads, writes shared by owner."""

import threading
from collections import deque

from cache_tiers.lower.jobs import Job
from cache_tiers.owners.block_key import Owner
from cache_tiers.owners.fair_line import FairLine, Waiting
from cache_tiers.owners.owners import Owners
from cache_tiers.owners.shares import MemoryShares


class JobQueue:
    """A queue in which a write waits behind all reads, since requests wait only for reads. Thread-safe.

    At most `max_writes` writes are in flight, so no read waits while a distant tier takes its time to confirm them.

    Owners take turns to write, by bytes. Queued writes are bounded by `max_write_bytes`. The excess is shed from the
    owner with the most queued bytes for its weight.
    """

    def __init__(self, max_write_bytes: int, max_writes: int, owners: Owners) -> None:
        self._max_write_bytes = max_write_bytes
        self._max_writes = max_writes
        self._writing: set[Job] = set()
        self._write_bytes = 0
        self._reads: deque[Job] = deque()
        self._writes: FairLine[Job, int] = FairLine(owners)
        self._shares = MemoryShares(owners)
        self._condition = threading.Condition()
        self._closed = False

    def put_read(self, job: Job) -> bool:
        """Queue a lookup, a load or an erasure. Return False once the queue is closed."""
        with self._condition:
            if self._closed:
                return False
            self._reads.append(job)
            self._condition.notify()
            return True

    def put_write(self, job: Job, nbytes: int, owner: Owner) -> list[Job]:
        """Queue a write of `nbytes` > 0. Return the writes shed for it, and the job itself if it has no room."""
        with self._condition:
            if self._closed or nbytes > self._max_write_bytes:
                return [job]
            self._shares.take(owner, nbytes)
            shed: list[Job] = []
            while self._write_bytes + nbytes > self._max_write_bytes:
                loser = self._shares.first()
                if loser is None or self._shares.level(loser) <= self._shares.level(owner):
                    self._shares.give(owner, nbytes)
                    return [*shed, job]
                newest = self._writes.newest(loser)
                self._writes.remove(loser, newest.key)
                self._write_off(newest)
                shed.append(newest.key)
            self._write_bytes += nbytes
            self._writes.add(owner, job, nbytes)
            self._shares.enter(owner)
            self._condition.notify()
            return shed

    def take(self) -> Job | None:
        """Wait for the next job, which the caller passes to `done` later; None once the queue is closed and empty."""
        with self._condition:
            while True:
                if self._reads:
                    return self._reads.popleft()
                if self._closed or len(self._writing) < self._max_writes:
                    job = self._take_write()
                    if job is not None:
                        self._writing.add(job)
                        return job
                if self._closed:
                    return None
                self._condition.wait()

    def _take_write(self) -> Job | None:
        turn = self._writes.next()
        if turn is None:
            return None
        self._writes.serve(turn, turn.value)
        self._write_off(turn)
        return turn.key

    def _write_off(self, turn: Waiting[Job, int]) -> None:
        """Subtract a dequeued write from the totals per tenant."""
        self._write_bytes -= turn.value
        self._shares.give(turn.owner, turn.value)

    def done(self, job: Job) -> None:
        """Note that a job returned by `take` has been attempted."""
        with self._condition:
            if job in self._writing:
                self._writing.remove(job)
                self._condition.notify()

    def take_all(self) -> list[Job]:
        """Take every queued job, which is not to be attempted."""
        with self._condition:
            jobs = list(self._reads)
            self._reads.clear()
            while (job := self._take_write()) is not None:
                jobs.append(job)
            return jobs

    def close(self) -> None:
        """Accept no further jobs. Queued jobs are still handed out."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
