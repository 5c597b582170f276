"""What requests in the queue will need comes from Redis into host memory while they wait."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from cache_tiers.block_key import BlockKey
from cache_tiers.fetches import Fetches, Window
from cache_tiers.load_cost import LoadCost
from cache_tiers.store import KVTierStore

WINDOWS_AT_ONCE: Final = 2
"""Of all that is warmed together: whoever has had its turn waits for the same link."""


@dataclass(slots=True)
class _Warm:
    """num_done: of its keys, in host memory by now. brought: those that came from Redis for it."""

    keys: Sequence[BlockKey]
    num_done: int = 0
    window: Window | None = None
    ended: bool = False
    brought: set[BlockKey] = field(default_factory=set)

    @property
    def num_brought(self) -> int:
        """Counting what is on its way."""
        return len(self.brought) + (len(self.window.asked) if self.window is not None else 0)


class Warming:
    """First come, first served. Nothing is held: what was brought can be evicted again, like all that lies there.

    most_blocks: that may be brought for requests which have not had their turn; more would push each other out.
    """

    def __init__(self, store: KVTierStore, fetches: Fetches, cost: LoadCost, *, most_blocks: int) -> None:
        self._store = store
        self._fetches = fetches
        self._cost = cost
        self._most_blocks = most_blocks
        self._warms: dict[str, _Warm] = {}

    def begin(self, load_id: str, keys: Sequence[BlockKey]) -> None:
        """Bring the longest run of `keys`."""
        self._warms[load_id] = _Warm(keys)
        self.advance()

    def end(self, load_id: str) -> frozenset[BlockKey]:
        """Bring nothing more for it; what was brought from Redis, or is on its way from there."""
        warm = self._warms.pop(load_id, None)
        if warm is None:
            return frozenset()
        if warm.window is not None:
            self._fetches.leave([warm.window])
            return frozenset(warm.brought | warm.window.asked)
        return frozenset(warm.brought)

    @property
    def is_busy(self) -> bool:
        """Whether anything is on its way."""
        return any(warm.window is not None for warm in self._warms.values())

    def advance(self) -> None:
        """Take what has arrived, ask for more."""
        for warm in self._warms.values():
            self._take(warm)
        for warm in self._warms.values():
            room = self._most_blocks - sum(each.num_brought for each in self._warms.values())
            if room <= 0 or sum(each.window is not None for each in self._warms.values()) >= WINDOWS_AT_ONCE:
                return
            if warm.window is None and not warm.ended:
                self._ask(warm, room)

    def _take(self, warm: _Warm) -> None:
        result = self._fetches.poll(warm.window) if warm.window is not None else None
        if warm.window is None or result is None:
            return
        keys = [slot.key for slot in result.slots]
        if keys:
            self._store.release(keys)
        warm.brought.update(warm.window.asked.intersection(keys))
        warm.num_done += len(keys)
        warm.ended = len(keys) < len(warm.window.keys) or warm.num_done == len(warm.keys)
        warm.window = None

    def _ask(self, warm: _Warm, room: int) -> None:
        """Unless somebody else is bringing what is next."""
        most = min(room, self._cost.window(self._store.redis_speed, self._store.max_window))
        keys = warm.keys[warm.num_done : warm.num_done + most]
        keys = keys[: self._fetches.num_unclaimed(keys)]
        if keys:
            warm.window = self._fetches.begin(warm.num_done, keys)
