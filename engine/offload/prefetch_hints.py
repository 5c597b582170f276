"""Prefetch hints: prefixes of requests that are expected soon, loaded before the request arrives.

Blocks move from the lower tiers into host memory alongside running requests, and from there to the device while there
is no request at all.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from cache_tiers.moves.loads import LoadOutcome
from cache_tiers.moves.manager import TierManager
from cache_tiers.owners.block_key import BlockKey
from cache_tiers.tier import TierId
from engine.block_tables.block_manager import BlockManager
from engine.offload.idle_promotion import MAX_BLOCKS, IdlePromotion, PrefixBlock
from engine.offload.stored_partials import StoredPartials
from engine.request.request import Request

LAPSE_SECONDS: Final = 30.0
"""Lifetime of a hint that is not renewed."""

MAX_PER_TENANT: Final = 4
"""Hints that one tenant may have at once; a new one replaces the oldest."""
MAX_AT_ONCE: Final = 64
"""Hints of all tenants that may be waiting for a lower tier at once."""
MAX_BROUGHT: Final = 16_384
"""Prefetched blocks whose source is remembered until a request uses them."""


@dataclass(slots=True, kw_only=True)
class _Hint:
    """A hint and its prefetch. Prefetched blocks count against the limits until the hint lapses, even if cancelled."""

    tenant: str
    began: float
    """Time of the hint, in seconds on the clock."""
    chain: Sequence[BlockKey]
    """Keys of the full blocks, then the key of the partly filled last block where one is known."""
    num_full: int
    num_brought: int
    """Blocks that may come from a lower tier; once the hint is cancelled, the blocks that did."""
    below: deque[PrefixBlock]
    """Blocks that are still to be copied to the device."""
    num_promoted: int = 0
    """Blocks that were copied to the device, or are being copied."""

    @property
    def last(self) -> BlockKey:
        """Key of the last full block."""
        return self.chain[self.num_full - 1]


class PrefetchHints:
    """Prefetch hints of all tenants. A hint may be wrong, so its prefetch yields to every other use of the machine.

    Within `LAPSE_SECONDS`, hints fill at most a quarter of the device and `TierManager.most_blocks_ahead` blocks of
    host memory. One tenant gets at most half of that, so that a client that opens chat after chat does not evict the
    blocks of others. A tenant keeps its newest `MAX_PER_TENANT` hints. No hint is accepted while `MAX_AT_ONCE` are
    waiting for a lower tier.
    """

    def __init__(
        self, tiers: TierManager, blocks: BlockManager, partials: StoredPartials, *, clock: Callable[[], float]
    ) -> None:
        self._tiers = tiers
        self._blocks = blocks
        self._pool = blocks.pool
        self._partials = partials
        self._clock = clock
        self._hints: dict[str, _Hint] = {}
        self._spent: list[_Hint] = []
        self._brought: dict[BlockKey, TierId] = {}
        """Source of each block that a hint brought and no request has used, oldest first."""
        self._promotion = IdlePromotion(tiers, blocks.pool)
        self._promoting: _Hint | None = None

    def add_hint(self, name: str, tenant: str, keys: Sequence[BlockKey], token_ids: Sequence[int]) -> bool:
        """Add the hint `name`: a prompt that begins with `token_ids` is expected. Return whether blocks will be loaded.

        The same prefix again changes nothing. Another prefix under the same name replaces the former one.

        keys: keys of the full blocks of `token_ids`.
        """
        self.forget_lapsed()
        before = self._hints.get(name)
        if before is not None and keys and before.last == keys[-1]:
            return True
        self.forget(name)
        hint, missing = self._plan(tenant, keys, token_ids)
        if not (missing or hint.below):
            return False
        of_tenant = [each for each, other in self._hints.items() if other.tenant == tenant]
        for oldest in of_tenant[: max(0, len(of_tenant) - MAX_PER_TENANT + 1)]:
            self.forget(oldest)
        if self._tiers.num_warmed_ahead >= MAX_AT_ONCE:
            return False
        self._hints[name] = hint
        self._spent.append(hint)
        if missing:
            self._tiers.warm_ahead(name, missing)
        # Room for the rest comes from evicting other prefixes, not this one.
        self._pool.renew(hint.chain)
        return True

    def _plan(
        self, tenant: str, keys: Sequence[BlockKey], token_ids: Sequence[int]
    ) -> tuple[_Hint, Sequence[BlockKey]]:
        """Plan the prefetch of a prefix. Return the hint and the keys to load from the lower tiers."""
        prefix = self._prefix(keys, token_ids)
        chain = [block.key for block in prefix]
        above = next((index for index, key in enumerate(chain) if not self._pool.has(key)), len(chain))
        below = above + self._tiers.num_in_cpu(chain[above:])
        self._tiers.protect(chain[above:below])
        missing: Sequence[BlockKey] = ()
        if self._tiers.store.link_speed() is not None:
            missing = chain[below:][: self._room(tenant, self._tiers.most_blocks_ahead, lambda each: each.num_brought)]
        room = self._room(tenant, self._pool.num_blocks // 4, lambda each: each.num_promoted + len(each.below))
        to_promote = deque(prefix[above : min(below + len(missing), above + room)])
        return _Hint(
            tenant=tenant,
            began=self._clock(),
            chain=chain,
            num_full=len(keys),
            num_brought=len(missing),
            below=to_promote,
        ), missing

    def _prefix(self, keys: Sequence[BlockKey], token_ids: Sequence[int]) -> list[PrefixBlock]:
        """List the full blocks, and the partly filled last block if it was stored and the device has less of it."""
        size = self._blocks.block_size
        prefix = [PrefixBlock(key, tuple(token_ids[at * size : (at + 1) * size])) for at, key in enumerate(keys)]
        rest = tuple(token_ids[len(keys) * size :])
        partial = self._partials.find(len(keys), keys[-1], rest) if keys and rest else None
        if partial is not None:
            here = self._pool.find_partial(keys[-1], rest)
            if here is None or here.num_tokens < partial.num_tokens:
                prefix.append(PrefixBlock(partial.key, self._partials.tokens_of(partial.key), partial_of=keys[-1]))
        return prefix

    def _room(self, tenant: str, most: int, spent: Callable[[_Hint], int]) -> int:
        """Return how many blocks `tenant` may prefetch now.

        most: limit of all tenants together. spent: how many blocks one hint has used of that limit.
        """
        left = most - sum(spent(each) for each in self._spent)
        own = most // 2 - sum(spent(each) for each in self._spent if each.tenant == tenant)
        return max(0, min(left, own))

    def promote(self) -> None:
        """Start copying the next blocks from host memory to the device. Call only while there is no request."""
        if self._promotion.is_busy:
            return
        for hint in self._hints.values():
            if run := self._next_run(hint.below):
                hint.num_promoted += len(run)
                self._promoting = hint
                self._promotion.begin(run)
                return

    def _next_run(self, below: deque[PrefixBlock]) -> list[PrefixBlock]:
        while below and self._pool.has(below[0].key):
            below.popleft()
        run = list(islice(below, min(MAX_BLOCKS, self._pool.num_free)))
        run = run[: self._tiers.num_in_cpu([block.key for block in run])]
        for _ in run:
            below.popleft()
        return run

    @property
    def is_promoting(self) -> bool:
        """Whether blocks are being copied to the device."""
        return self._promotion.is_busy

    def on_promoted(self, outcome: LoadOutcome) -> None:
        """Take the outcome of the load that `IdlePromotion` started."""
        hint, self._promoting = self._promoting, None
        assert hint is not None
        if not self._promotion.end(outcome):
            hint.below.clear()
        # Chains are evicted from their end, so the beginning must be the most recently used.
        self._pool.renew(hint.chain)

    def forget(self, name: str) -> None:
        """Cancel the prefetch hint `name`, if there is one."""
        hint = self._hints.pop(name, None)
        if hint is not None:
            brought = self._tiers.stop_warming_ahead(name)
            hint.num_brought = len(brought)
            hint.below.clear()
            self._note_brought(brought)

    def _note_brought(self, keys: Iterable[BlockKey]) -> None:
        for key in keys:
            self._brought[key] = self._tiers.store.source_of(key)
        for oldest in list(islice(self._brought, max(0, len(self._brought) - MAX_BROUGHT))):
            del self._brought[oldest]

    def forget_lapsed(self) -> None:
        """Cancel the hints that are older than `LAPSE_SECONDS`, and stop counting their blocks."""
        lapsed = self._clock() - LAPSE_SECONDS
        if self._spent and self._spent[0].began <= lapsed:
            for name in [name for name, hint in self._hints.items() if hint.began <= lapsed]:
                self.forget(name)
            self._spent = [hint for hint in self._spent if hint.began > lapsed]

    def on_arrival(self, request: Request) -> None:
        """Cancel the hints that `request` fulfils: from now on the request loads its own prefix.

        Record the sources of the request's prefetched blocks in `request.prefetched`.
        """
        keys = request.block_keys
        for name, hint in list(self._hints.items()):
            if len(keys) >= hint.num_full and keys[hint.num_full - 1] == hint.last:
                self.forget(name)
        if self._brought:
            sources = {key: source for key in keys if (source := self._brought.pop(key, None)) is not None}
            request.prefetched = sources

    def erase(self, keys: Iterable[BlockKey]) -> None:
        """Cancel every hint that contains one of `keys`, and publish none of these blocks on the device."""
        erased = set(keys)
        for name in [name for name, hint in self._hints.items() if not erased.isdisjoint(hint.chain)]:
            self.forget(name)
        for key in erased:
            self._brought.pop(key, None)
        self._promotion.erase(erased)

    def lose_device(self) -> None:
        """Discard the blocks that are being copied to the device, whose contents are lost."""
        self._promotion.drop()
