"""Threads for short work off the event loop, such as tokenizing a prompt or writing a long answer as JSON.

The event loop of a server has these in place of its own default executor, so that all work of `asyncio.to_thread` takes
the turn of the tenant that it is for.
"""

import os
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

THREADS: Final = min(32, (os.cpu_count() or 1) + 4)
"""As many as Python's own default."""

KEPT_FREE: Final = 2
"""Threads that one tenant leaves to the others."""

Job = tuple[Future[Any], Callable[[], Any]]


class FairThreads(ThreadPoolExecutor):
    """Executor in which tenants wait in separate lines. The tenant that holds the fewest threads is served first.

    Invariant: no thread is free while a tenant that may take it waits.
    """

    def __init__(self, tenant_of_call: Callable[[], str], threads: int = THREADS) -> None:
        """Create `threads` threads.

        tenant_of_call: returns the tenant that the current call of `submit` is for.
        """
        super().__init__(threads, thread_name_prefix="work")
        self._tenant_of_call = tenant_of_call
        self._most_of_one = max(1, threads - KEPT_FREE)
        self._lock = threading.Lock()
        self._num_free = threads
        self._held = Counter[str]()
        # Least recently served tenant first.
        self._lines = OrderedDict[str, deque[Job]]()
        self._is_closed = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run `fn` in the tenant's turn, and return the future of the result. Raise RuntimeError after `shutdown`."""
        future = Future[T]()
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the threads take no more work")
            self._lines.setdefault(self._tenant_of_call(), deque()).append((future, lambda: fn(*args, **kwargs)))
            self._begin()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Begin no more work than what waits, or not even that, and wait for its end if `wait` is True."""
        with self._lock:
            self._is_closed = True
            waiting = [job for line in self._lines.values() for job in line]
            self._lines.clear()
            for future, work in waiting:
                if cancel_futures:
                    future.cancel()
                else:
                    super().submit(_run, future, work)
        super().shutdown(wait, cancel_futures=cancel_futures)

    def _begin(self) -> None:
        """Give free threads to the tenants whose turn it is. Call with the lock held."""
        while self._num_free and (tenant := self._next()) is not None:
            line = self._lines[tenant]
            future, work = line.popleft()
            if line:
                self._lines.move_to_end(tenant)
            else:
                del self._lines[tenant]
            super().submit(self._run, tenant, future, work)
            self._num_free -= 1
            self._held[tenant] += 1

    def _next(self) -> str | None:
        ready = [tenant for tenant in self._lines if self._held[tenant] < self._most_of_one]
        return min(ready, key=lambda tenant: self._held[tenant], default=None)

    def _run(self, tenant: str, future: Future[Any], work: Callable[[], Any]) -> None:
        try:
            _run(future, work)
        finally:
            with self._lock:
                self._num_free += 1
                self._held[tenant] -= 1
                if not self._held[tenant]:
                    del self._held[tenant]
                self._begin()


def _run(future: Future[Any], work: Callable[[], Any]) -> None:
    """Set the result of `work`, unless its caller has given it up."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)
