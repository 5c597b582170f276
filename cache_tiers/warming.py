"""What requests will need comes from Redis into host memory before they have their turn."""

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
    """num_done: of its keys, in host memory by now. brought: those that came from Redis for it, or are on their way.
    missing: the first that Redis did not have, or not give."""

    keys: Sequence[BlockKey]
    num_done: int = 0
    window: Window | None = None
    brought: set[BlockKey] = field(default_factory=set)
    missing: BlockKey | None = None


class Warming:
    """First come, first served. Nothing is held: what was brought can be evicted again, like all that lies there.

    most_blocks: that may be brought for requests which have not had their turn; more would push each other out.
    most_windows: of all that is warmed together. num_brought: blocks that came from Redis, since the start.
    """

    def __init__(
        self,
        store: KVTierStore,
        fetches: Fetches,
        cost: LoadCost,
        *,
        most_blocks: int,
        most_windows: int = WINDOWS_AT_ONCE,
    ) -> None:
        self._store = store
        self._fetches = fetches
        self._cost = cost
        self.most_blocks = most_blocks
        self.num_brought = 0
        self._room = most_blocks
        self._most_windows = most_windows
        self._warms: dict[str, _Warm] = {}
        self._under_way: dict[str, _Warm] = {}
        self._to_ask: dict[str, _Warm] = {}

    def begin(self, load_id: str, keys: Sequence[BlockKey]) -> None:
        """Bring the longest run of `keys`, from the next `advance` on."""
        self._warms[load_id] = self._to_ask[load_id] = _Warm(keys)

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
        self._room += len(warm.brought)
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
        for load_id, warm in list(self._to_ask.items()) if ask else ():
            if len(self._under_way) >= self._most_windows or self._room <= 0:
                return
            self._ask(load_id, warm)

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
        self._room += len(missed)
        warm.num_done += len(keys)
        del self._under_way[load_id]
        if len(keys) < len(warm.window.keys):
            warm.missing = warm.keys[warm.num_done]
        elif warm.num_done < len(warm.keys):
            self._to_ask[load_id] = warm
        warm.window = None

    def _ask(self, load_id: str, warm: _Warm) -> None:
        """Unless somebody else is bringing what is next."""
        most = min(self._room, self._cost.window(self._store.redis_speed, self._store.max_window))
        keys = warm.keys[warm.num_done : warm.num_done + most]
        keys = keys[: self._fetches.num_unclaimed(keys)]
        if keys:
            warm.window = self._fetches.begin(warm.num_done, keys)
            warm.brought |= warm.window.asked
            self._room -= len(warm.window.asked)
            del self._to_ask[load_id]
            self._under_way[load_id] = warm
