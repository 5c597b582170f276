"""Work for the worker threads: reads before writes, a worker that is free for reads, a bound of what waits to be
written."""

import threading
from collections import deque

from cache_tiers.redis.jobs import Job


class JobQueue:
    """Thread-safe. Somebody waits for a read, nobody for a write: a write waits behind all reads, and while a far Redis
    takes its time to confirm writes, no read waits for that.

    max_writes: that may be under way.
    """

    def __init__(self, max_write_bytes: int, max_writes: int) -> None:
        self._max_write_bytes = max_write_bytes
        self._max_writes = max_writes
        self._writing: set[Job] = set()
        self._write_bytes = 0
        self._reads: deque[Job] = deque()
        self._writes: deque[tuple[Job, int]] = deque()
        self._condition = threading.Condition()
        self._closed = False

    def put_read(self, job: Job) -> bool:
        """Queue a look-up, a load or an erasure; False once closed."""
        with self._condition:
            if self._closed:
                return False
            self._reads.append(job)
            self._condition.notify()
            return True

    def put_write(self, job: Job, nbytes: int) -> bool:
        """Queue a write of that size; False when the bound is reached (the write is shed) or the queue is closed."""
        with self._condition:
            if self._closed or self._write_bytes + nbytes > self._max_write_bytes:
                return False
            self._write_bytes += nbytes
            self._writes.append((job, nbytes))
            self._condition.notify()
            return True

    def take(self) -> Job | None:
        """The next job, waiting for one; None once the queue is closed and empty. `done` has to follow."""
        with self._condition:
            while True:
                if self._reads:
                    return self._reads.popleft()
                if self._writes and (self._closed or len(self._writing) < self._max_writes):
                    job, nbytes = self._writes.popleft()
                    self._write_bytes -= nbytes
                    self._writing.add(job)
                    return job
                if self._closed:
                    return None
                self._condition.wait()

    def done(self, job: Job) -> None:
        """What was taken has been tried."""
        with self._condition:
            if job in self._writing:
                self._writing.remove(job)
                self._condition.notify()

    def close(self) -> None:
        """Accept nothing more; what waits is still handed out."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
