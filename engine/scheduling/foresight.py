"""Prefixes with which somebody is about to ask: they come up before the request does.

From Redis they come into host memory, beside whoever runs; from there to the device while nobody asks for anything.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from cache_tiers.block_key import BlockKey
from cache_tiers.manager import LoadOutcome, TierManager
from engine.kv.block_manager import BlockManager
from engine.kv.stored_tails import StoredTails
from engine.request import Request
from engine.scheduling.lifts import MOST_BLOCKS, Lifts, PrefixBlock

LAPSE_SECONDS: Final = 30.0
"""After which nobody is believed to be about to ask, unless it is said again."""

MOST_OF_TENANT: Final = 4
MOST_AT_ONCE: Final = 64


@dataclass(slots=True)
class _Foreseen:
    """chain: the keys of its full blocks, of which there are `num_full`, and of its partly filled end. num_brought:
    blocks that it may bring from Redis or, once it is forgotten, brought. below: those that are still to go to the
    device; num_lifted: those that have gone. What was brought counts until it lapses."""

    tenant: str
    began: float
    chain: Sequence[BlockKey]
    num_full: int
    num_brought: int
    below: deque[PrefixBlock]
    num_lifted: int = 0

    @property
    def last(self) -> BlockKey:
        """The key of its last full block."""
        return self.chain[self.num_full - 1]


class Foresight:
    """A hint costs little and may be wrong: it is given up as soon as it is in the way of anything.

    Within `LAPSE_SECONDS` at most a quarter of a tier is brought there (of host memory what
    `TierManager.most_blocks_ahead` says), and half of that for one tenant: whoever opens chat after chat does not push
    out what others use. Of a tenant's prefixes the newest `MOST_OF_TENANT` count; while more than `MOST_AT_ONCE` in all
    are on their way from Redis, none is begun.
    """

    def __init__(
        self, tiers: TierManager, blocks: BlockManager, tails: StoredTails, *, clock: Callable[[], float]
    ) -> None:
        self._tiers = tiers
        self._blocks = blocks
        self._pool = blocks.pool
        self._tails = tails
        self._clock = clock
        self._foreseen: dict[str, _Foreseen] = {}
        self._spent: list[_Foreseen] = []
        self._lifts = Lifts(tiers, blocks.pool)
        self._lifted: _Foreseen | None = None

    def expect(self, name: str, tenant: str, keys: Sequence[BlockKey], token_ids: Sequence[int]) -> bool:
        """A prompt that begins with these tokens may come, whose full blocks have `keys`; returns whether anything is
        brought for it. The same again changes nothing; another one under the same name takes its place."""
        self.forget_lapsed()
        before = self._foreseen.get(name)
        if before is not None and keys and before.last == keys[-1]:
            return True
        self.forget(name)
        foreseen, missing = self._foresee(tenant, keys, token_ids)
        if not (missing or foreseen.below):
            return False
        of_tenant = [each for each, other in self._foreseen.items() if other.tenant == tenant]
        for oldest in of_tenant[: max(0, len(of_tenant) - MOST_OF_TENANT + 1)]:
            self.forget(oldest)
        if self._tiers.num_warmed_ahead >= MOST_AT_ONCE:
            return False
        self._foreseen[name] = foreseen
        self._spent.append(foreseen)
        if missing:
            self._tiers.warm_ahead(name, missing)
        # Room for the rest is made by what others left.
        self._pool.renew(foreseen.chain)
        return True

    def _foresee(
        self, tenant: str, keys: Sequence[BlockKey], token_ids: Sequence[int]
    ) -> tuple[_Foreseen, Sequence[BlockKey]]:
        """With what is to come from Redis for it."""
        prefix = self._prefix(keys, token_ids)
        chain = [block.key for block in prefix]
        above = next((index for index, key in enumerate(chain) if not self._pool.has(key)), len(chain))
        below = above + self._tiers.num_in_cpu(chain[above:])
        self._tiers.wanted(chain[above:below])
        missing: Sequence[BlockKey] = ()
        if self._tiers.redis_speed is not None:
            missing = chain[below:][: self._room(tenant, self._tiers.most_blocks_ahead, lambda each: each.num_brought)]
        room = self._room(tenant, self._pool.num_blocks // 4, lambda each: each.num_lifted + len(each.below))
        to_lift = deque(prefix[above : min(below + len(missing), above + room)])
        return _Foreseen(tenant, self._clock(), chain, len(keys), len(missing), to_lift), missing

    def _prefix(self, keys: Sequence[BlockKey], token_ids: Sequence[int]) -> list[PrefixBlock]:
        """Its full blocks and, as far as it is known, its partly filled end."""
        size = self._blocks.block_size
        prefix = [PrefixBlock(key, tuple(token_ids[at * size : (at + 1) * size])) for at, key in enumerate(keys)]
        rest = tuple(token_ids[len(keys) * size :])
        tail = self._tails.find(len(keys), keys[-1], rest) if keys and rest else None
        if tail is not None:
            here = self._pool.find_tail(keys[-1], rest)
            if here is None or here.num_tokens < tail.num_tokens:
                prefix.append(PrefixBlock(tail.key, self._tails.tokens_of(tail.key), tail_of=keys[-1]))
        return prefix

    def _room(self, tenant: str, most: int, spent: Callable[[_Foreseen], int]) -> int:
        """Blocks that may be brought for it now, where all may bring `most` and each has `spent` so many."""
        left = most - sum(spent(each) for each in self._spent)
        own = most // 2 - sum(spent(each) for each in self._spent if each.tenant == tenant)
        return max(0, min(left, own))

    def lift(self) -> None:
        """Nobody asks for anything: bring the next blocks that lie in host memory to the device."""
        if self._lifts.is_busy:
            return
        for foreseen in self._foreseen.values():
            if run := self._next_run(foreseen.below):
                foreseen.num_lifted += len(run)
                self._lifted = foreseen
                self._lifts.begin(run)
                return

    def _next_run(self, below: deque[PrefixBlock]) -> list[PrefixBlock]:
        while below and self._pool.has(below[0].key):
            below.popleft()
        run = list(islice(below, min(MOST_BLOCKS, self._pool.num_free)))
        run = run[: self._tiers.num_in_cpu([block.key for block in run])]
        for _ in run:
            below.popleft()
        return run

    @property
    def is_lifting(self) -> bool:
        """Whether blocks are on their way to the device."""
        return self._lifts.is_busy

    def lifted(self, outcome: LoadOutcome) -> None:
        """The load of `Lifts` has ended."""
        foreseen, self._lifted = self._lifted, None
        assert foreseen is not None
        if not self._lifts.end(outcome):
            foreseen.below.clear()
        # A chain is given up from its end.
        self._pool.renew(foreseen.chain)

    def forget(self, name: str) -> None:
        """Nobody is about to ask with it any more, or did."""
        foreseen = self._foreseen.pop(name, None)
        if foreseen is not None:
            foreseen.num_brought = self._tiers.stop_warming_ahead(name)
            foreseen.below.clear()

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
        for name in [name for name, foreseen in self._foreseen.items() if not erased.isdisjoint(foreseen.chain)]:
            self.forget(name)
        self._lifts.erase(erased)

    def lose_device(self) -> None:
        """What is being written there is lost."""
        self._lifts.drop()
