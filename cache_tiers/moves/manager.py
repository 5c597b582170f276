"""Transfers of KV blocks between the device and the tiers below. Requests are scheduled and tokens computed elsewhere.

Invariants:
- the CPU tier is the only gateway between the device and the lower tiers;
- a host slot has one writer and no readers, or readers and no writer;
- a pinned block is never evicted: the caller keeps a job's device block until the job's result has come back;
- a key is visible only after its bytes are complete and verified;
- losing a tier costs time, never correctness, never a request: a fault below only shortens a load.

`loads.py` has the loads and `stores.py` the stores. While a request is still queued, warming prefetches its blocks into
host memory.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from cache_tiers.leak_check import LeakCheck
from cache_tiers.moves.admission import Admission
from cache_tiers.moves.fetches import Fetches
from cache_tiers.moves.load_cost import LoadCost
from cache_tiers.moves.loads import LoadOutcome, Loads
from cache_tiers.moves.promises import ASK_AGAIN_SECONDS, Promises
from cache_tiers.moves.stores import Stores
from cache_tiers.moves.warming import Warming
from cache_tiers.owners.block_key import BlockKey
from cache_tiers.owners.owners import Owners
from cache_tiers.owners.recent_keys import RecentKeys
from cache_tiers.store import KVTierStore
from cache_tiers.transfer import TransferResult

PROBE_EVERY_SECONDS = 5.0
POLL_SECONDS = 0.001
MAX_UNERASED = 1 << 16
"""Blocks remembered whose erasure failed. Callers repeat it, and learn the result before that many others fail."""
LATE_POLL_SECONDS = 0.02


class TierManager:
    """Owner of tier lookups, host pins and jobs in flight. Called from one thread; `clock` returns seconds.

    loads, stores: copies to and from the device.
    promises: chains that a lower tier is to keep.
    admission: decides which deferred blocks are written to the lower tiers.
    cost: decides when a load is no longer worth its wait. Blocks that arrive later stay in the CPU tier.
    rest: seconds without a computed step before blocks go down on their own. A client that continues the conversation
        immediately after an answer should not find the machine copying.
    """

    def __init__(
        self,
        store: KVTierStore,
        cost: LoadCost,
        *,
        clock: Callable[[], float],
        rest: float,
        owners: Owners | None = None,
    ) -> None:
        owners = owners if owners is not None else Owners()
        self.store = store
        self.cost = cost
        self._clock = clock
        self._fetches = Fetches(store, clock=clock)
        most_blocks = store.stats().cpu.capacity_bytes // cost.block_nbytes if store.keeps_in_cpu else 0
        self._warming = Warming(store, self._fetches, cost, owners, most_blocks=most_blocks // 2)
        self._ahead = Warming(store, self._fetches, cost, owners, most_blocks=most_blocks // 4, most_windows=1)
        self._erasing: set[BlockKey] = set()
        self._erasing_below: Counter[BlockKey] = Counter()
        self._unerased: RecentKeys[None] = RecentKeys(MAX_UNERASED, owners)
        self._used_again: RecentKeys[None] = RecentKeys(MAX_UNERASED, owners)
        """Blocks that a request used after an erasure that a lower tier has not made."""
        self._probe_at = 0.0
        job_ids = itertools.count()
        self.loads = Loads(store, cost, self._fetches, self._warming, job_ids, clock=clock)
        self.stores = Stores(store, owners, job_ids, clock=clock, rest=rest)
        self.promises = Promises(store, clock=clock)
        self.admission = Admission(self.stores, owners)

    def succeed(self, former: "TierManager") -> None:
        """Take over the store from a manager whose state is in doubt. No copy of that manager may be in flight.

        Only the blocks that must be erased and the counts since the start are taken from its state.
        """
        self._fetches.adopt(self.store.abandon())
        self._erasing.update(former._erasing, former._erasing_below)
        self.loads.succeed(former.loads)
        self.stores.succeed(former.stores)

    # Location of blocks

    def num_in_cpu(self, keys: Sequence[BlockKey]) -> int:
        """Return the length of the leading run of `keys` that is in host memory."""
        return next((index for index, key in enumerate(keys) if not self.store.contains(key)), len(keys))

    def probe(self, key: BlockKey) -> None:
        """Fetch a block that no request waits for, at intervals, in case a link that was too slow is faster by now."""
        now = self._clock()
        if now >= self._probe_at and not self._fetches.num_late and self._fetches.num_unclaimed([key]):
            self._probe_at = now + PROBE_EVERY_SECONDS
            self._fetches.leave([self._fetches.begin(0, [key])])

    def protect(self, chain: Sequence[BlockKey]) -> None:
        """Protect the chain that a request is about to use, so that blocks loaded next do not evict it first."""
        self.store.protect(chain)

    def touch(self, chain: Sequence[BlockKey], num_found: int, marked: range) -> None:
        """Mark a request's block chain as recently used in every tier. The first `num_found` blocks were cache hits.

        marked: indices of the blocks that the client marked for caching.
        """
        self._note_use(chain)
        self.store.touch(chain, num_found, marked)

    # Prefetches

    def warm(self, load_id: str, keys: Sequence[BlockKey]) -> None:
        """Prefetch the longest run of `keys` into host memory, for a queued request's later load."""
        self._warming.begin(load_id, keys)
        self._warming.advance()

    def missing(self, load_id: str) -> BlockKey | None:
        """Return the key at which warming ended because no lower tier delivered it; None if there is none."""
        return self._warming.missing(load_id)

    def stop_warming(self, load_id: str) -> None:
        """Cancel the warming for a load that will not begin."""
        self._warming.end(load_id)

    @property
    def most_blocks_ahead(self) -> int:
        """Maximum number of blocks prefetched for expected requests."""
        return self._ahead.most_blocks

    @property
    def num_warmed_ahead(self) -> int:
        """Number of expected requests whose prefetch has not ended."""
        return self._ahead.num_unfinished

    @property
    def num_brought_ahead(self) -> int:
        """Blocks loaded from lower tiers for expected requests, since the start."""
        return self._ahead.num_brought

    def warm_ahead(self, name: str, keys: Sequence[BlockKey]) -> None:
        """Prefetch the longest run of `keys` into host memory for the expected request `name`.

        One window is fetched at a time, and none while the blocks of an actual request are in flight. An actual request
        therefore waits for at most one window.
        """
        self._ahead.begin(name, keys)

    def stop_warming_ahead(self, name: str) -> frozenset[BlockKey]:
        """Cancel the prefetch of `name`. Return its blocks that came from lower tiers or are in flight."""
        return self._ahead.end(name)

    # Copies in both directions

    def poll(self) -> list[LoadOutcome]:
        """Advance every load, prefetch and erasure. Return the outcomes of the loads that ended."""
        self._fetches.poll_late()
        self._warming.advance()
        self._ahead.advance(ask=not (self.loads.is_any_awaited or self._warming.num_unfinished))
        self.stores.write_missed()
        self.promises.poll()
        outcomes = self.loads.poll()
        self._erase()
        return outcomes

    def offer(self, key: BlockKey, block_id: int, *, deferred: bool | None = None) -> bool:
        """See `Stores.offer`."""
        self._erasing.discard(key)
        self._note_use([key])
        return self.stores.offer(key, block_id, deferred=deferred)

    def erase(self, keys: Sequence[BlockKey]) -> None:
        """Remove blocks from the tiers below: now, or once the copy, load or write that uses them has ended.

        A block that is recomputed and offered in the meantime stays.
        """
        for key in keys:
            self._used_again.take(key)
        self._erasing.update(keys)
        self._erase()

    def to_repeat(self, keys: Iterable[BlockKey]) -> list[BlockKey]:
        """Return those of `keys` that no request used since an erasure that could not be made."""
        return [key for key in keys if not self._used_again.has(key)]

    def _note_use(self, keys: Iterable[BlockKey]) -> None:
        if self._erasing_below or len(self._unerased):
            used = [key for key in keys if key in self._erasing_below or self._unerased.has(key)]
            self._used_again.note(used, None)

    @property
    def is_erasing(self) -> bool:
        """Whether a block still has to be erased."""
        return bool(self._erasing or self._erasing_below)

    def erased(self, keys: Iterable[BlockKey]) -> bool | None:
        """Return True if the last erasure of each block was made, and False if a lower tier could not make it.

        Return None while it is not known.
        """
        self._settle_erasures()
        wanted = list(keys)
        if any(key in self._erasing or key in self._erasing_below for key in wanted):
            return None
        return not any(self._unerased.has(key) for key in wanted)

    def _erase(self) -> None:
        self._settle_erasures()
        if self._erasing:
            busy = set(self.store.erase(list(self._erasing)))
            self._erasing_below.update(self._erasing - busy)
            self._erasing = busy
            self._settle_erasures()

    def _settle_erasures(self) -> None:
        """Take the lower tiers' answers."""
        for keys, is_erased in self.store.poll_erased():
            self._erasing_below -= Counter(keys)
            if is_erased:
                for key in keys:
                    self._unerased.take(key)
            else:
                self._unerased.note(keys, None)

    def complete(self, results: Iterable[TransferResult]) -> dict[BlockKey, bool]:
        """Process the results of jobs.

        Return the keys whose STORE ended or failed, for the caller to unpin, each with whether the copy was made. The
        caller may offer a block again whose copy failed.
        """
        stored: dict[BlockKey, bool] = {}
        for result in results:
            if self.stores.is_store(result.job_id):
                key = self.stores.complete(result, is_erased=self._erasing.__contains__)
                stored[key] = result.error is None
            else:
                self.loads.complete(result)
        return stored

    @property
    def has_copies(self) -> bool:
        """Whether a step is needed just to copy blocks, now or after the rest period."""
        return len(self.loads.ready) > 0 or self.stores.may_take

    def next_poll_seconds(self) -> float | None:
        """Return the seconds until the next poll if no request needs a step; None if nothing is in progress."""
        if len(self.loads) or self._warming.is_busy or self._ahead.is_busy:
            return POLL_SECONDS
        times = [self.stores.next_poll_seconds(), ASK_AGAIN_SECONDS if len(self.promises) else None]
        times += [LATE_POLL_SECONDS] if self._fetches.num_late or self.is_erasing or self._ahead.num_unfinished else []
        return min((each for each in times if each is not None), default=None)

    def leak_check(self) -> LeakCheck:
        """Check that nothing is held while no load and no job is in flight."""
        self.loads.check()
        warming = self._warming.is_busy or self._ahead.is_busy
        if not (len(self.loads) or self._fetches.num_late or warming or self.stores.num_copying):
            self._fetches.check()
            yield from self.store.leak_check()
