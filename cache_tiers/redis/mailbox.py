"""Numbered tasks whose results wait to be fetched, with a bell that rings for each."""

import itertools
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Mailbox(Generic[Result]):
    """Thread-safe. `ring` is called after a result was put in, from the thread that did so."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._results: dict[int, Result] = {}

    def open(self) -> int:
        """The number of a new task."""
        return next(self._numbers)

    def put(self, task: int, result: Result) -> None:
        """The task is done."""
        with self._lock:
            self._results[task] = result
        self._ring()

    def take(self, task: int) -> Result | None:
        """The result, once; None while there is none."""
        with self._lock:
            return self._results.pop(task, None)

    def take_all(self) -> dict[int, Result]:
        """Every result that waits, once."""
        with self._lock:
            results, self._results = self._results, {}
        return results
