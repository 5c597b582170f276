"""The keys believed to be in a tier, so that not every load needs a lookup first."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cache_tiers.owners.owners import Owners
from cache_tiers.owners.shares import OwnedKeys


@dataclass(slots=True)
class _Known:
    """The last information about a key.

    whole: the value was complete when it was last written or verified here.
    renewed: when the key last counted as used in the tier.
    """

    whole: bool
    renewed: float


class KnownKeys:
    """Hints about a tier. A key may have been evicted or have expired since, or exist without being known. Thread-safe.

    most: maximum number of keys, at about 300 bytes each. The owner with the most keys loses the one that was confirmed
        least recently.
    """

    def __init__(self, most: int, owners: Owners, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: OwnedKeys[bytes, _Known] = OwnedKeys(owners)

    def learn(self, keys: Sequence[bytes], found: Sequence[bool], *, whole: bool) -> None:
        """Record what the tier has just answered about each key.

        whole: values that exist have just been written or verified here.
        """
        with self._lock:
            for key, there in zip(keys, found, strict=True):
                before = self._keys.pop(key)
                if there:
                    self._keys.put(key, _Known(whole or (before is not None and before.whole), self._clock()))
                    if len(self._keys) > self._most:
                        self._keys.pop(self._keys.next_to_go())

    def is_whole(self, key: bytes) -> bool:
        """Return True if the key is known and its value was complete when last seen."""
        with self._lock:
            known = self._keys.get(key)
            return known is not None and known.whole

    def run(self, keys: Sequence[bytes]) -> int:
        """Return the length of the leading run of `keys` that is known."""
        with self._lock:
            return next((index for index, key in enumerate(keys) if key not in self._keys), len(keys))

    def take_due(self, keys: Sequence[bytes], seconds: float) -> list[bytes]:
        """Return the known keys that were last renewed at least `seconds` ago, and mark them as renewed now."""
        now, due = self._clock(), []
        with self._lock:
            for key in keys:
                known = self._keys.get(key)
                if known is not None and now - known.renewed >= seconds:
                    known.renewed = now
                    due.append(key)
        return due
