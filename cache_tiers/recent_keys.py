"""What was last noted of some keys."""

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Generic, TypeVar

V = TypeVar("V")


class RecentKeys(Generic[V]):
    """Thread-safe. Of more than `most` keys the longest unchanged are forgotten."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._values: OrderedDict[bytes, V] = OrderedDict()

    def note(self, keys: Iterable[bytes], value: V) -> None:
        """The same of all of them."""
        with self._lock:
            for key in keys:
                self._values.pop(key, None)
                self._values[key] = value
            while len(self._values) > self._most:
                self._values.popitem(last=False)

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: bytes) -> V | None:
        """None if there is nothing."""
        with self._lock:
            return self._values.get(key)

    def take(self, key: bytes) -> V | None:
        """As `get`, and forget it."""
        with self._lock:
            return self._values.pop(key, None)

    def take_oldest(self, most: int) -> list[bytes]:
        """The longest unchanged keys, which are forgotten."""
        with self._lock:
            return [self._values.popitem(last=False)[0] for _ in range(min(most, len(self._values)))]
