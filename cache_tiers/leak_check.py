"""Checks for leaks in pieces, between which the event loop can serve requests."""

import time
from collections.abc import Iterator
from typing import Final

LeakCheck = Iterator[float]
"""A check that yields after each piece the seconds to wait before the next one, and raises AssertionError for a leak.

Nothing that it looks at may change between two pieces. If something has changed, the check must be dropped.
"""

PIECE: Final = 256
"""Blocks that are visited in one piece, which takes less than a millisecond."""


def complete(check: LeakCheck) -> None:
    """Run all pieces of a check. Raise AssertionError for a leak."""
    for seconds in check:
        time.sleep(seconds)
