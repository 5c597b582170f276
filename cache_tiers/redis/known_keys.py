"""What is believed to be in Redis, so that not every load has to ask first."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cache_tiers.owned_keys import OwnedKeys
from cache_tiers.owners import Owners


@dataclass(slots=True)
class _Known:
    """whole: its value was, when we saw it last. renewed: when it last counted as used there."""

    whole: bool
    renewed: float


class KnownKeys:
    """Thread-safe. Hints: a key may have been evicted or have expired since, or be there without our knowledge.

    most: keys that are remembered, at about 300 bytes each. The owner with most of them forgets the one that was
    confirmed least recently.
    """

    def __init__(self, most: int, owners: Owners, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: OwnedKeys[bytes, _Known] = OwnedKeys(owners)

    def learn(self, keys: Sequence[bytes], found: Sequence[bool], *, whole: bool) -> None:
        """Note what Redis has just said of each of the keys.

        whole: what is there was written or verified by us just now.
        """
        with self._lock:
            for key, there in zip(keys, found, strict=True):
                before = self._keys.pop(key)
                if there:
                    self._keys.put(key, _Known(whole or (before is not None and before.whole), self._clock()))
                    if len(self._keys) > self._most:
                        self._keys.pop(self._keys.next_to_go())

    def is_whole(self, key: bytes) -> bool:
        """Whether the key is known, and its value was whole when we saw it last."""
        with self._lock:
            known = self._keys.get(key)
            return known is not None and known.whole

    def run(self, keys: Sequence[bytes]) -> int:
        """How many of the first keys are known, without a gap."""
        with self._lock:
            return next((index for index, key in enumerate(keys) if key not in self._keys), len(keys))

    def take_due(self, keys: Sequence[bytes], seconds: float) -> list[bytes]:
        """Return the keys that are known and were last renewed that long ago; now they count as renewed."""
        now, due = self._clock(), []
        with self._lock:
            for key in keys:
                known = self._keys.get(key)
                if known is not None and now - known.renewed >= seconds:
                    known.renewed = now
                    due.append(key)
        return due
