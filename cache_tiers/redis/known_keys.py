"""What is believed to be in Redis, so that not every load has to ask first."""

import threading
from collections import OrderedDict
from collections.abc import Sequence


class KnownKeys:
    """Thread-safe. Hints: a key may have been evicted or have expired since, or be there without our knowledge.

    most: keys that are remembered, at about 150 bytes each; the least recently confirmed go first.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._keys: OrderedDict[bytes, bool] = OrderedDict()

    def learn(self, keys: Sequence[bytes], found: Sequence[bool], *, whole: bool) -> None:
        """What Redis has just said of each of the keys. whole: what is there was written or verified by us just now."""
        with self._lock:
            for key, there in zip(keys, found, strict=True):
                was_whole = self._keys.pop(key, False)
                if there:
                    self._keys[key] = whole or was_whole
            while len(self._keys) > self._most:
                self._keys.popitem(last=False)

    def is_whole(self, key: bytes) -> bool:
        """Whether the key is known, and its value was whole when we saw it last."""
        with self._lock:
            return self._keys.get(key, False)

    def run(self, keys: Sequence[bytes]) -> int:
        """How many of the first keys are known, without a gap."""
        with self._lock:
            return next((index for index, key in enumerate(keys) if key not in self._keys), len(keys))
