"""Amounts for which the database has not confirmed whether they were added to a stored sum.

Added again at once, they could count twice. They wait until the database says so, and are given back if they are not in
the sum. Amounts in doubt at the end of the process do not count again.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from app.domain.storage_health import CommitUnknownError

A = TypeVar("A")


class DoubtfulAdditions(Generic[A]):
    """Owner of the amounts in doubt."""

    def __init__(self, give_back: Callable[[A], None]) -> None:
        """Make an empty collection.

        give_back: receives each amount that was not added.
        """
        self._give_back = give_back
        self._doubts: list[tuple[A, CommitUnknownError]] = []

    def keep(self, amount: A, error: CommitUnknownError) -> None:
        """Keep an amount whose addition raised `error`."""
        self._doubts.append((amount, error))

    def settle(self) -> None:
        """Give the amounts back that are known not to be added, and forget those that are."""
        settled = [each for each in self._doubts if each[1].is_stored.done()]
        self._doubts = [each for each in self._doubts if not each[1].is_stored.done()]
        for amount, error in settled:
            if not error.is_stored.result():
                self._give_back(amount)
