"""Work for the worker threads: reads before writes, no more loads at once than the link needs, and no more writes than
the bound."""

import threading
from collections import deque
from collections.abc import Callable

from cache_tiers.redis.jobs import Job


class JobQueue:
    """Thread-safe. Somebody waits for a read, nobody for a write: a write waits behind all reads.

    most_loads: asked for each load, how many of them may be under way with it.
    """

    def __init__(self, max_write_bytes: int, most_loads: Callable[[], int]) -> None:
        self._max_write_bytes = max_write_bytes
        self._most_loads = most_loads
        self._write_bytes = 0
        self._questions: deque[Job] = deque()
        self._loads: deque[Job] = deque()
        self._loading: set[Job] = set()
        self._writes: deque[tuple[Job, int]] = deque()
        self._condition = threading.Condition()
        self._closed = False

    def put_question(self, job: Job) -> bool:
        """Queue a look-up, a renewal or an erasure, which are short; False once closed."""
        return self._put(self._questions, job)

    def put_load(self, job: Job) -> bool:
        """Queue a load; False once closed."""
        return self._put(self._loads, job)

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
                if self._questions:
                    return self._questions.popleft()
                if self._loads and (self._closed or len(self._loading) < self._most_loads()):
                    job = self._loads.popleft()
                    self._loading.add(job)
                    return job
                if self._writes:
                    job, nbytes = self._writes.popleft()
                    self._write_bytes -= nbytes
                    return job
                if self._closed:
                    return None
                self._condition.wait()

    def done(self, job: Job) -> None:
        """What was taken has been tried."""
        with self._condition:
            if job in self._loading:
                self._loading.remove(job)
                self._condition.notify_all()

    def close(self) -> None:
        """Accept nothing more; what waits is still handed out."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def _put(self, jobs: deque[Job], job: Job) -> bool:
        with self._condition:
            if self._closed:
                return False
            jobs.append(job)
            self._condition.notify()
            return True
