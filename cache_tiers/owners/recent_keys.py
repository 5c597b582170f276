"""Bounded map of the most recently noted keys."""

import threading
from collections.abc import Iterable
from typing import Generic, TypeVar

from cache_tiers.owners.owners import Owners
from cache_tiers.owners.shares import OwnedKeys

V = TypeVar("V")


class RecentKeys(Generic[V]):
    """Values of at most `most` keys. Above that, the owner with the most keys for its weight loses its oldest one.

    Thread-safe.
    """

    def __init__(self, most: int, owners: Owners) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._values: OwnedKeys[bytes, V] = OwnedKeys(owners)

    def note(self, keys: Iterable[bytes], value: V) -> None:
        """Set the value of each of `keys` to `value`, and mark these keys as their owners' newest."""
        with self._lock:
            for key in keys:
                self._values.put(key, value)
                if len(self._values) > self._most:
                    self._values.pop(self._values.next_to_go())

    def __len__(self) -> int:
        return len(self._values)

    def has(self, key: bytes) -> bool:
        """Return True if `key` is known."""
        with self._lock:
            return key in self._values

    def get(self, key: bytes) -> V | None:
        """Return the value of `key`; None if it is unknown."""
        with self._lock:
            return self._values.get(key)

    def take(self, key: bytes) -> V | None:
        """Remove `key` and return its value; None if it is unknown."""
        with self._lock:
            return self._values.pop(key)

    def take_oldest(self, most: int) -> list[bytes]:
        """Remove and return at most `most` keys, the oldest of each owner in turn."""
        with self._lock:
            return self._values.oldest_in_turn(most)
