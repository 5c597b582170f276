"""Work for the worker threads: reads before writes, and no more writes than the bound."""

import threading
from collections import deque

from cache_tiers.redis.jobs import Job


class JobQueue:
    """Thread-safe. Somebody waits for a read, nobody for a write: a write waits behind all reads."""

    def __init__(self, max_write_bytes: int) -> None:
        self._max_write_bytes = max_write_bytes
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
        """The next job, waiting for one; None once the queue is closed and empty."""
        with self._condition:
            while True:
                if self._reads:
                    return self._reads.popleft()
                if self._writes:
                    job, nbytes = self._writes.popleft()
                    self._write_bytes -= nbytes
                    return job
                if self._closed:
                    return None
                self._condition.wait()

    def close(self) -> None:
        """Accept nothing more; what waits is still handed out."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
