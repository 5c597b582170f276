"""Stand-in for numba while LMCache is imported.

LMCache compiles functions of a codec with numba, which Ebb never calls. The import of numba takes 40 MiB, writes into a
cache directory, and fails where a process may not make memory executable.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any


@contextmanager
def numba_stand_in() -> Iterator[None]:
    """Let `from numba import njit` within the block find a decorator that changes nothing."""
    if "numba" in sys.modules:
        yield
        return
    stand_in = ModuleType("numba")
    vars(stand_in)["njit"] = _unchanged
    sys.modules["numba"] = stand_in
    try:
        yield
    finally:
        del sys.modules["numba"]


def _unchanged(**_: Any) -> Callable[[Any], Any]:
    """Return a decorator that returns its function."""
    return lambda function: function
