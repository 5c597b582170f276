"""Prefetch from the lower tiers into host memory for requests that are still queued or only expected."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from cache_tiers.moves.fetches import Fetches, KeyRun
from cache_tiers.moves.load_cost import LoadCost
from cache_tiers.owners.block_key import BlockKey, Owner, owner_of
from cache_tiers.owners.owners import Owners
from cache_tiers.store import KVTierStore

WINDOWS_AT_ONCE: Final = 2
"""Windows in flight for all prefetches together: a request that is already loading uses the same link."""


@dataclass(slots=True)
class _Warm:
    """The prefetch of one request's chain.

    owner: the owner of the request.
    num_done: leading keys that have been loaded into host memory.
    window: the window in flight, if there is one.
    brought: blocks that came from a lower tier for this prefetch, or are in flight.
    missing: the first key that no lower tier had or delivered.
    """

    keys: Sequence[BlockKey]
    owner: Owner
    num_done: int = 0
    window: KeyRun | None = None
    brought: set[BlockKey] = field(default_factory=set)
    missing: BlockKey | None = None


class Warming:
    """Prefetches of queued or expected requests.

    The next window goes to the owner with the fewest prefetched blocks for its weight, and to the oldest request of
    that owner. Prefetched blocks are not pinned: they can be evicted like any other block in host memory.

    most_blocks: maximum number of blocks prefetched for requests that have not been scheduled, since more would evict
        each other. Owners with such requests share the blocks by weight.
    most_windows: maximum number of windows in flight, for all prefetches together.
    num_brought: blocks loaded from lower tiers, since the start.
    """

    def __init__(
        self,
        store: KVTierStore,
        fetches: Fetches,
        cost: LoadCost,
        owners: Owners,
        *,
        most_blocks: int,
        most_windows: int = WINDOWS_AT_ONCE,
    ) -> None:
        self._store = store
        self._fetches = fetches
        self._cost = cost
        self.most_blocks = most_blocks
        self.num_brought = 0
        self._owners = owners
        self._brought: Counter[Owner] = Counter()
        self._waiting: Counter[Owner] = Counter()
        self._most_windows = most_windows
        self._warms: dict[str, _Warm] = {}
        self._under_way: dict[str, _Warm] = {}
        self._to_ask: dict[str, _Warm] = {}

    def begin(self, load_id: str, keys: Sequence[BlockKey]) -> None:
        """Prefetch the longest run of `keys`, which must not be empty, from the next `advance` on."""
        self.end(load_id)
        # After a public prefix, the last key is the tenant's own.
        owner = owner_of(keys[-1])
        self._warms[load_id] = self._to_ask[load_id] = _Warm(keys, owner)
        self._waiting[owner] += 1

    def missing(self, load_id: str) -> BlockKey | None:
        """Return the first key that no lower tier had when asked; None if they had all so far."""
        warm = self._warms.get(load_id)
        return warm.missing if warm is not None else None

    def hand_over(self, load_id: str) -> tuple[frozenset[BlockKey], KeyRun | None]:
        """End the prefetch and hand its window over to the caller.

        Return the blocks brought from lower tiers, including those in flight, and the window in flight, if there is
        one.
        """
        warm = self._warms.pop(load_id, None)
        if warm is None:
            return frozenset(), None
        self._to_ask.pop(load_id, None)
        self._under_way.pop(load_id, None)
        self._bring(warm.owner, -len(warm.brought))
        self._waiting[warm.owner] -= 1
        if not self._waiting[warm.owner]:
            del self._waiting[warm.owner]
        return frozenset(warm.brought), warm.window

    def end(self, load_id: str) -> frozenset[BlockKey]:
        """Cancel the prefetch and abandon its window. Return the blocks brought from lower tiers, or in flight."""
        brought, window = self.hand_over(load_id)
        if window is not None:
            self._fetches.leave([window])
        return brought

    @property
    def is_busy(self) -> bool:
        """Whether a window is in flight."""
        return bool(self._under_way)

    @property
    def num_unfinished(self) -> int:
        """Number of prefetches that have not ended."""
        return len(self._under_way) + len(self._to_ask)

    def advance(self, *, ask: bool = True) -> None:
        """Process the windows that have arrived. With `ask`, begin further ones."""
        for load_id, warm in list(self._under_way.items()):
            self._take(load_id, warm)
        if not ask or len(self._under_way) >= self._most_windows:
            return
        for load_id, warm in sorted(self._to_ask.items(), key=lambda item: self._level(item[1].owner)):
            if len(self._under_way) >= self._most_windows:
                return
            if self._room(warm.owner) > 0:
                self._ask(load_id, warm)

    def _level(self, owner: Owner) -> float:
        return self._brought[owner] / self._owners.weight(owner)

    def _room(self, owner: Owner) -> int:
        """Return how many more blocks may be prefetched for `owner` now."""
        weights = sum(map(self._owners.weight, self._waiting))
        return int(self.most_blocks * self._owners.weight(owner) / weights) - self._brought[owner]

    def _bring(self, owner: Owner, count: int) -> None:
        self._brought[owner] += count
        if not self._brought[owner]:
            del self._brought[owner]

    def _take(self, load_id: str, warm: _Warm) -> None:
        assert warm.window is not None
        result = self._fetches.poll(warm.window)
        if result is None:
            return
        keys = [slot.key for slot in result.slots]
        if keys:
            self._store.release(keys)
        missed = warm.window.asked.difference(keys)
        warm.brought -= missed
        self.num_brought += len(warm.window.asked) - len(missed)
        self._bring(warm.owner, -len(missed))
        warm.num_done += len(keys)
        del self._under_way[load_id]
        if len(keys) < len(warm.window.keys):
            warm.missing = warm.keys[warm.num_done]
        elif warm.num_done < len(warm.keys):
            self._to_ask[load_id] = warm
        warm.window = None

    def _ask(self, load_id: str, warm: _Warm) -> None:
        """Begin the next window, unless another prefetch or load is fetching its first block."""
        speed = self._store.link_speed(warm.keys[warm.num_done : warm.num_done + 1])
        most = min(self._room(warm.owner), self._cost.window(speed, self._store.max_window))
        keys = warm.keys[warm.num_done : warm.num_done + most]
        keys = keys[: self._fetches.num_unclaimed(keys)]
        if keys:
            warm.window = self._fetches.begin(warm.num_done, keys)
            warm.brought |= warm.window.asked
            self._bring(warm.owner, len(warm.window.asked))
            del self._to_ask[load_id]
            self._under_way[load_id] = warm
