"""What requests will need comes from Redis into host memory before they have their turn."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from cache_tiers.block_key import BlockKey, Owner, owner_of
from cache_tiers.fetches import Fetches, Window
from cache_tiers.load_cost import LoadCost
from cache_tiers.owners import Owners
from cache_tiers.store import KVTierStore

WINDOWS_AT_ONCE: Final = 2
"""Of all that is warmed together: whoever has had its turn waits for the same link."""


@dataclass(slots=True)
class _Warm:
    """owner: whose request it is.

    num_done: of its keys, in host memory by now. brought: those that came from Redis for it, or are on their way.
    missing: the first that Redis did not have, or not give."""

    keys: Sequence[BlockKey]
    owner: Owner
    num_done: int = 0
    window: Window | None = None
    brought: set[BlockKey] = field(default_factory=set)
    missing: BlockKey | None = None


class Warming:
    """The owner for which least was brought for its weight is next; of one owner's requests the first. Nothing is held:
    a block that was brought can be evicted again, like all that is there.

    most_blocks: that may be brought for requests which have not had their turn; more would push each other out. Owners
    with such requests share them by their weights.
    most_windows: of all that is warmed together. num_brought: blocks that came from Redis, since the start.
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
        """Bring the longest run of `keys`, of which there is at least one, from the next `advance` on."""
        self.end(load_id)
        # Behind a public prefix the last key is the tenant's own.
        owner = owner_of(keys[-1])
        self._warms[load_id] = self._to_ask[load_id] = _Warm(keys, owner)
        self._waiting[owner] += 1

    def missing(self, load_id: str) -> BlockKey | None:
        """The first of its keys that Redis did not have when it was asked for them; None as long as it had all."""
        warm = self._warms.get(load_id)
        return warm.missing if warm is not None else None

    def hand_over(self, load_id: str) -> tuple[frozenset[BlockKey], Window | None]:
        """Bring nothing more for it: what was brought from Redis or is on its way from there, and the window in which
        it is, which is the caller's now."""
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

    def end(self, load_id: str) -> int:
        """Bring nothing more for it, and let nobody wait for what is on its way; returns how many blocks came, or will,
        from Redis for it."""
        brought, window = self.hand_over(load_id)
        if window is not None:
            self._fetches.leave([window])
        return len(brought)

    @property
    def is_busy(self) -> bool:
        """Whether anything is on its way."""
        return bool(self._under_way)

    @property
    def num_unfinished(self) -> int:
        """How many something is still to be brought for."""
        return len(self._under_way) + len(self._to_ask)

    def advance(self, *, ask: bool = True) -> None:
        """Take what has arrived and, with `ask`, ask for more."""
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
        """Return how many more blocks may be brought for `owner` now."""
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
        """Unless somebody else is bringing what is next."""
        most = min(self._room(warm.owner), self._cost.window(self._store.redis_speed, self._store.max_window))
        keys = warm.keys[warm.num_done : warm.num_done + most]
        keys = keys[: self._fetches.num_unclaimed(keys)]
        if keys:
            warm.window = self._fetches.begin(warm.num_done, keys)
            warm.brought |= warm.window.asked
            self._bring(warm.owner, len(warm.window.asked))
            del self._to_ask[load_id]
            self._under_way[load_id] = warm
