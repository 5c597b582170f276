"""Callback that collects the results of operations."""

import threading
from typing import Generic, TypeVar

T = TypeVar("T")


class Results(Generic[T]):
    """Callback that collects results from any thread."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._results: list[T] = []

    def __call__(self, result: T) -> None:
        """Add a result."""
        with self._condition:
            self._results.append(result)
            self._condition.notify_all()

    def wait(self, count: int) -> list[T]:
        """Wait for `count` results and return all. Raise AssertionError after 20 seconds."""
        with self._condition:
            assert self._condition.wait_for(lambda: len(self._results) >= count, 20)
            return list(self._results)
