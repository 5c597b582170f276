"""Leak checks of the engine and its parts, as a test makes them: at once."""

from typing import Protocol

from cache_tiers.leak_check import LeakCheck, complete


class Checked(Protocol):
    """Part of the engine that can look for leaked blocks."""

    def leak_check(self) -> LeakCheck:
        """Check in pieces. Raise AssertionError for a leak."""


def assert_no_leaks(part: Checked) -> None:
    """Raise AssertionError if a block, a lock or a reservation leaks."""
    complete(part.leak_check())
