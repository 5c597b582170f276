"""The last notes on some keys."""

import threading
from collections.abc import Iterable
from typing import Generic, TypeVar

from cache_tiers.owned_keys import OwnedKeys
from cache_tiers.owners import Owners

V = TypeVar("V")


class RecentKeys(Generic[V]):
    """Thread-safe. At most `most` keys are remembered: the owner with most of them forgets its oldest one."""

    def __init__(self, most: int, owners: Owners) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._values: OwnedKeys[bytes, V] = OwnedKeys(owners)

    def note(self, keys: Iterable[bytes], value: V) -> None:
        """Note the same of all of them."""
        with self._lock:
            for key in keys:
                self._values.put(key, value)
                if len(self._values) > self._most:
                    self._values.pop(self._values.next_to_go())

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: bytes) -> V | None:
        """Return the note on `key`; None if there is none."""
        with self._lock:
            return self._values.get(key)

    def take(self, key: bytes) -> V | None:
        """Do as `get`, and forget the note."""
        with self._lock:
            return self._values.pop(key)

    def take_oldest(self, most: int) -> list[bytes]:
        """Return and forget the longest unchanged keys of one owner after the other."""
        with self._lock:
            return self._values.oldest_in_turn(most)
