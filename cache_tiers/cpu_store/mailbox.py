"""Numbered tasks whose results wait to be fetched, with a notification for each."""

import itertools
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Mailbox(Generic[Result]):
    """Results of tasks. `ring` is called after each result, on the thread that delivered it. Thread-safe."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._results: dict[int, Result] = {}

    def open(self) -> int:
        """Return the number of a new task."""
        return next(self._numbers)

    def put(self, task: int, result: Result) -> None:
        """Deliver the result of a task."""
        with self._lock:
            self._results[task] = result
        self._ring()

    def take(self, task: int) -> Result | None:
        """Take the result of a task, once; None while there is none."""
        with self._lock:
            return self._results.pop(task, None)

    def take_all(self) -> dict[int, Result]:
        """Take all results that have not been taken."""
        with self._lock:
            results, self._results = self._results, {}
        return results
