"""Windows of keys on their way into host memory: nobody fetches what another one fetches already."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cache_tiers.block_key import BlockKey
from cache_tiers.store import KVTierStore, PrefetchResult


@dataclass(frozen=True, slots=True)
class Window:
    """keys: a run, of which the first is block `start` of whoever wants it. asked: those that were not in host memory
    when it began, at `submitted` seconds."""

    start: int
    keys: Sequence[BlockKey]
    asked: frozenset[BlockKey]
    handle: int
    submitted: float


class Fetches:
    """Owner of all windows under way, also of those that nobody waits for any more: what they bring stays in host
    memory for others."""

    def __init__(self, store: KVTierStore, *, clock: Callable[[], float], redis: bool) -> None:
        self._store = store
        self._clock = clock
        self._redis = redis
        self._fetching: set[BlockKey] = set()
        self._late: list[Window] = []

    def begin(self, start: int, keys: Sequence[BlockKey], *, from_cpu: bool = False) -> Window:
        """At most `max_window` keys that nobody else fetches. from_cpu: what lies in host memory, and no more."""
        asked = frozenset(key for key in keys if not self._store.contains(key))
        self._fetching |= asked
        return Window(start, keys, asked, self._store.prefetch(keys, redis=self._redis and not from_cpu), self._clock())

    def num_unclaimed(self, keys: Sequence[BlockKey]) -> int:
        """How many of the first keys nobody fetches, or are in host memory by now. The others will be there when they
        have arrived."""
        return next((index for index, key in enumerate(keys) if self._is_awaited(key)), len(keys))

    def poll(self, window: Window) -> PrefetchResult | None:
        """Its result, once; None while it is under way. Whoever takes the result releases its slots."""
        result = self._store.poll(window.handle)
        if result is not None:
            self._fetching -= window.asked
        return result

    def leave(self, windows: Iterable[Window]) -> None:
        """Nobody waits for these any more."""
        self._late += windows

    def adopt(self, handles: Iterable[int]) -> None:
        """Take over prefetches under way from a predecessor; what they bring stays in host memory for others."""
        self._late += [Window(0, (), frozenset(), handle, self._clock()) for handle in handles]

    @property
    def num_late(self) -> int:
        """Windows under way that nobody waits for."""
        return len(self._late)

    def poll_late(self) -> None:
        """Let go of what has arrived for nobody."""
        self._late = [window for window in self._late if not self._release(window)]

    def check(self) -> None:
        """Raise AssertionError if a window has no owner. Call it when nobody waits for any."""
        assert not self._fetching, f"nobody took what was fetched of {len(self._fetching)} blocks"

    def _is_awaited(self, key: BlockKey) -> bool:
        return key in self._fetching and not self._store.contains(key)

    def _release(self, window: Window) -> bool:
        result = self.poll(window)
        if result is not None and result.slots:
            self._store.release([slot.key for slot in result.slots])
        return result is not None
