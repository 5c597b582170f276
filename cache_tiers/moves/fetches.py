"""Windows of keys on their way into host memory, so that no block is fetched twice at the same time."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cache_tiers.owners.block_key import BlockKey
from cache_tiers.store import KVTierStore, PrefetchResult


@dataclass(frozen=True, slots=True)
class KeyRun:
    """A run of keys that is fetched with one prefetch.

    start: index of the first key in the requester's chain.
    asked: keys that were not in host memory when the fetch began.
    handle: the store's handle of the prefetch.
    submitted: when the fetch began, in seconds of the clock.
    """

    start: int
    keys: Sequence[BlockKey]
    asked: frozenset[BlockKey]
    handle: int
    submitted: float


class Fetches:
    """Owner of all windows in flight, including abandoned ones, whose blocks stay in host memory for other requests."""

    def __init__(self, store: KVTierStore, *, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._fetching: set[BlockKey] = set()
        self._late: list[KeyRun] = []

    def begin(self, start: int, keys: Sequence[BlockKey], *, from_cpu: bool = False) -> KeyRun:
        """Begin to fetch at most `max_window` keys that no other window fetches.

        start: index of the first key in the caller's chain.
        from_cpu: take only blocks that are already in host memory.
        """
        asked = frozenset(key for key in keys if not self._store.contains(key))
        self._fetching |= asked
        return KeyRun(start, keys, asked, self._store.prefetch(keys, lower=not from_cpu), self._clock())

    def num_unclaimed(self, keys: Sequence[BlockKey]) -> int:
        """Return the length of the leading run of `keys` that no window in flight is still fetching.

        The remaining keys will be in host memory once those windows have arrived.
        """
        return next((index for index, key in enumerate(keys) if self._is_awaited(key)), len(keys))

    def poll(self, window: KeyRun) -> PrefetchResult | None:
        """Return the window's result once, None while it is in flight. The caller must release the result's slots."""
        result = self._store.poll(window.handle)
        if result is not None:
            self._fetching -= window.asked
        return result

    def leave(self, windows: Iterable[KeyRun]) -> None:
        """Abandon windows that their requester no longer waits for."""
        self._late += windows

    def adopt(self, handles: Iterable[int]) -> None:
        """Take over a predecessor's prefetches in flight. Their blocks stay in host memory for other requests."""
        self._late += [KeyRun(0, (), frozenset(), handle, self._clock()) for handle in handles]

    @property
    def num_late(self) -> int:
        """Abandoned windows that are still in flight."""
        return len(self._late)

    def poll_late(self) -> None:
        """Release the slots of abandoned windows that have arrived."""
        self._late = [window for window in self._late if not self._release(window)]

    def check(self) -> None:
        """Raise AssertionError if a window has no owner. Call this only while no load or warming is in progress."""
        assert not self._fetching, f"{len(self._fetching)} fetched blocks were never collected"

    def _is_awaited(self, key: BlockKey) -> bool:
        return key in self._fetching and not self._store.contains(key)

    def _release(self, window: KeyRun) -> bool:
        result = self.poll(window)
        if result is not None and result.slots:
            self._store.release([slot.key for slot in result.slots])
        return result is not None
