"""Queue of work for the worker threads: reads before writes, one worker kept free for reads, writes shared by owner."""

import threading
from collections import deque

from cache_tiers.lower.jobs import Job
from cache_tiers.lower.write_account import WriteAccount
from cache_tiers.owners.block_key import Owner


class JobQueue:
    """A queue in which a write waits behind all reads, since requests wait only for reads. Thread-safe.

    At most `max_writes` writes are in flight, so no read waits while a distant tier takes its time to confirm them.

    Owners take turns to write, by bytes. Queued writes are bounded by `account`, which all tiers share.
    """

    def __init__(self, account: WriteAccount, max_writes: int) -> None:
        self._max_writes = max_writes
        self._writing: set[Job] = set()
        self._reads: deque[Job] = deque()
        self._writes = account.open_line()
        self._condition = threading.Condition(account.lock)
        self._closed = False

    def put_read(self, job: Job) -> bool:
        """Queue a lookup, a load or an erasure. Return False once the queue is closed."""
        with self._condition:
            if self._closed:
                return False
            self._reads.append(job)
            self._condition.notify()
            return True

    def make_room(self, nbytes: int) -> list[Job]:
        """Make room for writes of blocks that every tier will receive. Return the writes of other tiers shed for it."""
        with self._condition:
            return self._writes.make_room(nbytes)

    def put_write(self, job: Job, memory: object, nbytes: int, owner: Owner) -> list[Job]:
        """Queue a write of `nbytes` > 0. Return the writes shed for it, of any tier: the job itself if it has no room.

        memory: what the write keeps from being evicted, the same object for each tier that writes it.
        """
        with self._condition:
            if self._closed:
                return [job]
            shed = self._writes.add(job, memory, nbytes, owner)
            self._condition.notify()
            return shed

    def take(self) -> Job | None:
        """Wait for the next job, which the caller passes to `done` later; None once the queue is closed and empty."""
        with self._condition:
            while True:
                if self._reads:
                    return self._reads.popleft()
                if self._closed or len(self._writing) < self._max_writes:
                    job = self._writes.take()
                    if job is not None:
                        self._writing.add(job)
                        return job
                if self._closed:
                    return None
                self._condition.wait()

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
            while (job := self._writes.take()) is not None:
                jobs.append(job)
            return jobs

    def close(self) -> None:
        """Accept no further jobs. Queued jobs are still handed out."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
