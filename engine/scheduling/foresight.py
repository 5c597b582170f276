"""Prefixes with which somebody is about to ask: they are brought as far as host memory before the request comes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from cache_tiers.block_key import BlockKey
from cache_tiers.manager import TierManager
from engine.kv.block_pool import BlockPool
from engine.kv.stored_tails import StoredTails
from engine.request import Request

LAPSE_SECONDS: Final = 30.0
"""After which nobody is believed to be about to ask, unless it is said again."""

MOST_OF_TENANT: Final = 4
MOST_AT_ONCE: Final = 64


@dataclass(slots=True)
class _Foreseen:
    """last: the key of its last full block, the `num_full`-th. num_blocks: that it may bring or, once it is forgotten,
    brought; they count until it lapses."""

    tenant: str
    began: float
    last: BlockKey
    num_full: int
    num_blocks: int


class Foresight:
    """A hint costs little and may be wrong: it is given up as soon as it is in the way of anything.

    What is brought within `LAPSE_SECONDS` is at most what `TierManager.most_blocks_ahead` says, and half of it for one
    tenant: whoever opens chat after chat does not push out what others use. Of a tenant's prefixes the newest
    `MOST_OF_TENANT` count; more than `MOST_AT_ONCE` in all are not begun.
    """

    def __init__(self, tiers: TierManager, pool: BlockPool, tails: StoredTails, *, clock: Callable[[], float]) -> None:
        self._tiers = tiers
        self._pool = pool
        self._tails = tails
        self._clock = clock
        self._foreseen: dict[str, _Foreseen] = {}
        self._spent: list[_Foreseen] = []

    def expect(self, name: str, tenant: str, keys: Sequence[BlockKey], rest: tuple[int, ...]) -> bool:
        """A prompt of these full blocks may come, and go on with `rest`; returns whether anything is brought for it.
        The same again changes nothing; another one under the same name takes its place."""
        self.forget_lapsed()
        before = self._foreseen.get(name)
        if before is not None and keys and before.last == keys[-1]:
            return True
        self.forget(name)
        missing = self._missing(keys, rest)
        room = self._room(tenant)
        if not missing or not room or self._tiers.redis_speed is None:
            return False
        of_tenant = [each for each, foreseen in self._foreseen.items() if foreseen.tenant == tenant]
        for oldest in of_tenant[: max(0, len(of_tenant) - MOST_OF_TENANT + 1)]:
            self.forget(oldest)
        if self._tiers.num_warmed_ahead >= MOST_AT_ONCE:
            return False
        missing = missing[:room]
        foreseen = _Foreseen(tenant, self._clock(), keys[-1], len(keys), len(missing))
        self._foreseen[name] = foreseen
        self._spent.append(foreseen)
        self._tiers.warm_ahead(name, missing)
        return True

    def forget(self, name: str) -> None:
        """Nobody is about to ask with it any more, or did."""
        foreseen = self._foreseen.pop(name, None)
        if foreseen is not None:
            foreseen.num_blocks = self._tiers.stop_warming_ahead(name)

    def forget_lapsed(self) -> None:
        """Those that were said too long ago."""
        lapsed = self._clock() - LAPSE_SECONDS
        if self._spent and self._spent[0].began <= lapsed:
            for name in [name for name, foreseen in self._foreseen.items() if foreseen.began <= lapsed]:
                self.forget(name)
            self._spent = [foreseen for foreseen in self._spent if foreseen.began > lapsed]

    def arrived(self, request: Request) -> None:
        """What was foreseen of it is its own to bring up from now on."""
        keys = request.block_keys
        for name, foreseen in list(self._foreseen.items()):
            if len(keys) >= foreseen.num_full and keys[foreseen.num_full - 1] == foreseen.last:
                self.forget(name)

    def erase(self, keys: Iterable[BlockKey]) -> None:
        """Nobody shall find these any more."""
        erased = set(keys)
        for name in [name for name, foreseen in self._foreseen.items() if foreseen.last in erased]:
            self.forget(name)

    def _missing(self, keys: Sequence[BlockKey], rest: tuple[int, ...]) -> Sequence[BlockKey]:
        """What is neither on the device nor in host memory, from the first one on."""
        tail = self._tails.find(len(keys), keys[-1], rest) if keys and rest else None
        wanted = [*keys, tail.key] if tail is not None else keys
        above = next((index for index, key in enumerate(wanted) if not self._pool.has(key)), len(wanted))
        in_cpu = self._tiers.num_in_cpu(wanted[above:])
        self._tiers.wanted(wanted[above : above + in_cpu])
        return wanted[above + in_cpu :]

    def _room(self, tenant: str) -> int:
        """Blocks that may be brought for it now."""
        most = self._tiers.most_blocks_ahead
        left = most - sum(foreseen.num_blocks for foreseen in self._spent)
        own = most // 2 - sum(foreseen.num_blocks for foreseen in self._spent if foreseen.tenant == tenant)
        return max(0, min(left, own))
