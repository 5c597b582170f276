"""Waiting for a condition, with a deadline instead of a fixed delay."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(condition: Callable[[], T | None], *, timeout: float = 20.0) -> T:
    """Poll `condition` until its value is neither None nor False, and return that value.

    Raise AssertionError after `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value is not None and value is not False:
            return value
        assert time.monotonic() < deadline, f"the condition was not met within {timeout} s"
        time.sleep(0.002)
