"""Transfers of KV blocks between the device and the tiers below. Requests are scheduled and tokens computed elsewhere.

Invariants:
- the CPU tier is the only gateway between the device and the lower tiers;
- a host slot has one writer and no readers, or readers and no writer;
- a pinned block is never evicted: the caller keeps a job's device block until the job's result has come back;
- a key is visible only after its bytes are complete and verified;
- losing a tier costs time, never correctness, never a request: a fault below only shortens a load.

A load restores the longest run of a request's keys, in windows from the front, four of them ahead. Blocks that another
load is fetching are awaited, not fetched twice. The load ends where waiting costs more than computing. While the
request is still queued, warming prefetches its blocks into host memory.

A store copies one full block down. A store that the CPU tier refuses is retried for as long as the block is on the
device. A store that a lower tier missed while it was unavailable is retried for as long as the block is in host memory.
"""

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from cache_tiers.block_key import BlockKey, Owner, owner_of
from cache_tiers.fair_line import FairLine
from cache_tiers.fetches import Fetches, Window
from cache_tiers.histogram import Histogram
from cache_tiers.load_cost import LoadCost
from cache_tiers.owners import Owners
from cache_tiers.ready_loads import ReadyLoads
from cache_tiers.recent_keys import RecentKeys
from cache_tiers.store import KVTierStore, PrefetchResult
from cache_tiers.tier import CPU, DEVICE, TierId
from cache_tiers.transfer import Direction, TransferJob, TransferResult
from cache_tiers.warming import Warming

WINDOWS_AHEAD = 4
STORE_RETRY_SECONDS = 0.1
PROBE_EVERY_SECONDS = 5.0
MAX_UNTAKEN = 1 << 12
POLL_SECONDS = 0.001
LATE_POLL_SECONDS = 0.02
REWRITE_SECONDS = 0.1


class LoadEnd(Enum):
    """Reason for the end of a load."""

    WHOLE = auto()
    RUN_ENDED = auto()
    """The tiers did not have, or did not deliver, the block after the last one that arrived."""
    TOO_SLOW = auto()
    COPY_FAILED = auto()
    CANCELLED = auto()


@dataclass(frozen=True, slots=True)
class LoadOutcome:
    """The end of a load: its first blocks now hold their bytes.

    sources: for each of these blocks, the tier that had it.
    seconds: from the beginning of the load to its end.
    lookup_seconds: part of `seconds` until the lower tiers reported which blocks of the first window they have.
    """

    load_id: str
    sources: tuple[TierId, ...]
    seconds: float
    lookup_seconds: float = 0.0
    end: LoadEnd = LoadEnd.WHOLE

    @property
    def num_blocks(self) -> int:
        """Number of blocks that arrived."""
        return len(self.sources)


@dataclass(slots=True)
class _Load:
    """The state of a load.

    compute_seconds: time to compute all its blocks; None if unknown.
    ahead: no request waits for the load yet, and the load takes only blocks from host memory.
    warmed: blocks that warming brought from lower tiers before the load began.
    warming: the window that warming had in flight when the load began, until the load reaches it.
    moved: when a window last arrived.
    submitted: leading keys that are part of a window.
    sources: for each leading key whose block is in host memory, the tier that had it.
    lookup_seconds: see LoadOutcome.
    failed_at: index of the first block whose copy failed.
    """

    load_id: str
    keys: Sequence[BlockKey]
    block_ids: Sequence[int]
    began: float
    compute_seconds: float | None
    ahead: bool
    warmed: frozenset[BlockKey]
    warming: Window | None
    moved: float
    submitted: int = 0
    sources: list[TierId] = field(default_factory=list)
    lookup_seconds: float = 0.0
    end: LoadEnd = LoadEnd.WHOLE
    ended: bool = False
    windows: deque[Window] = field(default_factory=deque)
    jobs: set[int] = field(default_factory=set)
    failed_at: int | None = None

    @property
    def arrived(self) -> int:
        """Number of leading keys whose blocks are in host memory."""
        return len(self.sources)

    @property
    def compute_seconds_left(self) -> float | None:
        """Time to compute the blocks that have not arrived; None if unknown."""
        if self.compute_seconds is None:
            return None
        return self.compute_seconds * (len(self.keys) - self.arrived) / len(self.keys)


class TierManager:
    """Owner of tier lookups, host pins and jobs in flight. Called from one thread; `clock` returns seconds.

    cost: decides when a load is no longer worth its wait. Blocks that arrive later stay in the CPU tier.
    rest: seconds without a computed step before blocks go down on their own. A client that continues the conversation
        immediately after an answer should not find the machine copying.
    load_seconds: duration of loads that delivered a block, by the lowest tier involved.
    store_seconds: duration of each copy down.
    num_copied_up: blocks whose bytes arrived on the device.
    num_copied_down: blocks whose bytes arrived in host memory.
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
        self._rest = rest
        self._fetches = Fetches(store, clock=clock)
        most_blocks = store.stats().cpu.capacity_bytes // cost.block_nbytes if store.keeps_in_cpu else 0
        self._warming = Warming(store, self._fetches, cost, owners, most_blocks=most_blocks // 2)
        self._ahead = Warming(store, self._fetches, cost, owners, most_blocks=most_blocks // 4, most_windows=1)
        self._job_ids = itertools.count()
        self._loads: dict[str, _Load] = {}
        self._load_jobs: dict[int, tuple[_Load, int]] = {}
        self._store_jobs: dict[int, BlockKey] = {}
        self._ready_loads = ReadyLoads(cost.block_nbytes)
        self._unstored: FairLine[BlockKey, int] = FairLine(owners)
        self._erasing: set[BlockKey] = set()
        self._untaken: RecentKeys[bool] = RecentKeys(MAX_UNTAKEN, owners)
        self._is_full = False
        self._retry_at = 0.0
        self._rewrite_at = 0.0
        self._rested_at = 0.0
        self._probe_at = 0.0
        self.load_seconds = {tier: Histogram.of_seconds() for tier in (CPU.id, *store.stats().lower)}
        self.store_seconds = Histogram.of_seconds()
        self.num_copied_up = 0
        self.num_copied_down = 0

    def succeed(self, former: "TierManager") -> None:
        """Take over the store from a manager whose state is in doubt. No copy of that manager may be in flight.

        Only the blocks that must be erased and the counts since the start are taken from its state.
        """
        self._fetches.adopt(self.store.abandon())
        self._erasing |= former._erasing
        self.load_seconds, self.store_seconds = former.load_seconds, former.store_seconds
        self.num_copied_up, self.num_copied_down = former.num_copied_up, former.num_copied_down

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

    def touch(self, chain: Sequence[BlockKey], num_found: int) -> None:
        """Mark a request's block chain as recently used in every tier. The first `num_found` blocks were cache hits."""
        self.store.touch(chain, num_found)

    # Loads

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

    def stop_warming_ahead(self, name: str) -> int:
        """Cancel the prefetch of `name`. Return how many of its blocks came from lower tiers or are in flight."""
        return self._ahead.end(name)

    def begin_load(
        self,
        load_id: str,
        keys: Sequence[BlockKey],
        block_ids: Sequence[int],
        *,
        compute_seconds: float | None,
        ahead: bool = False,
    ) -> None:
        """Begin to load the longest run of `keys` into the device blocks `block_ids`.

        The caller owns the device blocks, and must keep them until the load's outcome.

        compute_seconds: time to compute all the blocks; None if unknown.
        ahead: the load is for an expected request. Only blocks in host memory are loaded, so it ends by the next step.
        """
        now = self._clock()
        warmed, window = self._warming.hand_over(load_id)
        adopted = self._to_be_adopted(window, keys)
        load = _Load(load_id, keys, block_ids, now, compute_seconds, ahead, warmed, adopted, now)
        self._loads[load_id] = load
        # Blocks in host memory are available at once: their copies go with the step that is being scheduled.
        self._advance(load)

    def cancel_load(self, load_id: str) -> None:
        """Stop loading. The outcome still follows, once copies that are part of a step have ended."""
        load = self._loads[load_id]
        self._end(load, LoadEnd.CANCELLED)
        for job in self._ready_loads.drop(load_id):
            self._end_load_job(job.job_id, failed=True)

    def poll_loads(self) -> list[LoadOutcome]:
        """Advance every load and every prefetch. Return the outcomes of the loads that ended."""
        self._fetches.poll_late()
        self._warming.advance()
        others_load = not all(load.ahead for load in self._loads.values())
        self._ahead.advance(ask=not (others_load or self._warming.num_unfinished))
        self._write_missed()
        outcomes = []
        for load in list(self._loads.values()):
            self._advance(load)
            if load.ended and not load.jobs:
                del self._loads[load.load_id]
                outcomes.append(outcome := self._outcome(load))
                if outcome.num_blocks and not load.ahead:
                    self._lowest(outcome.sources).observe(outcome.seconds)
        self._erase()
        return outcomes

    def _lowest(self, sources: Sequence[TierId]) -> Histogram:
        return [seconds for tier, seconds in self.load_seconds.items() if tier in sources][-1]

    def _to_be_adopted(self, window: Window | None, keys: Sequence[BlockKey]) -> Window | None:
        """Return warming's window in flight as one of the load; None if not all its keys are the load's."""
        if window is None:
            return None
        start = keys.index(window.keys[0]) if window.keys[0] in keys else len(keys)
        if [*keys[start : start + len(window.keys)]] == [*window.keys]:
            return replace(window, start=start)
        self._fetches.leave([window])
        return None

    def _submit_windows(self, load: _Load) -> None:
        while not load.ended and len(load.windows) < WINDOWS_AHEAD and load.submitted < len(load.keys):
            window = self._next_window(load)
            if window is None:
                return
            load.windows.append(window)
            load.submitted += len(window.keys)

    def _next_window(self, load: _Load) -> Window | None:
        """Begin the next window; None while another load or prefetch fetches the next block."""
        speed = self.store.link_speed(load.keys[load.submitted : load.submitted + 1])
        end = load.submitted + self.cost.window(speed, self.store.max_window)
        if load.warming is not None:
            if load.warming.start == load.submitted:
                adopted, load.warming = load.warming, None
                return adopted
            end = min(end, load.warming.start)
        keys = load.keys[load.submitted : end]
        keys = keys[: self._fetches.num_unclaimed(keys)]
        return self._fetches.begin(load.submitted, keys, from_cpu=load.ahead) if keys else None

    def _advance(self, load: _Load) -> None:
        self._submit_windows(load)
        while load.windows and not load.ended:
            window = load.windows[0]
            result = self._fetches.poll(window)
            if result is None:
                break
            load.windows.popleft()
            self._window_arrived(load, window, result)
            self._submit_windows(load)
        if load.ended:
            return
        if load.arrived == len(load.keys):
            self._end(load, LoadEnd.WHOLE)
        elif self._waits_too_long(load):
            self._end(load, LoadEnd.TOO_SLOW)

    def _waits_too_long(self, load: _Load) -> bool:
        now, missing = self._clock(), load.keys[load.arrived :]
        asked = load.windows[0].submitted if load.windows else load.moved
        return not self.cost.worth_waiting(
            self.store.link_speed(missing),
            len(missing),
            known=self.store.num_known_below(missing[:1]) == 1,
            asked=now - asked,
            waited=now - max(asked, load.moved),
            compute_seconds=load.compute_seconds_left,
        )

    def _window_arrived(self, load: _Load, window: Window, result: PrefetchResult) -> None:
        for index, slot in enumerate(result.slots, window.start):
            job = TransferJob(next(self._job_ids), Direction.LOAD, load.block_ids[index], slot.offset)
            self._load_jobs[job.job_id] = (load, index)
            load.jobs.add(job.job_id)
            self._ready_loads.add(load.load_id, job)
        load.moved = self._clock()
        for slot, source in zip(result.slots, result.sources, strict=True):
            load.sources.append(self.store.source_of(slot.key) if slot.key in load.warmed else source)
        load.lookup_seconds = load.lookup_seconds or result.lookup_seconds
        if len(result.slots) < len(window.keys):
            self._end(load, LoadEnd.RUN_ENDED)

    def _end(self, load: _Load, end: LoadEnd) -> None:
        load.ended, load.end = True, end
        self._fetches.leave([*load.windows, *([load.warming] if load.warming is not None else [])])
        load.warming = None
        load.windows.clear()

    def _outcome(self, load: _Load) -> LoadOutcome:
        if load.failed_at is not None:
            load.end = LoadEnd.COPY_FAILED
        sources = tuple(load.sources[: load.failed_at])
        return LoadOutcome(load.load_id, sources, self._clock() - load.began, load.lookup_seconds, load.end)

    # Stores

    def offer(self, key: BlockKey, block_id: int) -> bool:
        """Copy a full block down, now or once there is room. Return whether the block still has to wait."""
        self._erasing.discard(key)
        if self.has_taken(key) and not self.store.contains(key):
            self._unstored.add(owner_of(key), key, block_id)
        return not self.has_taken(key)

    def forget(self, key: BlockKey) -> None:
        """Give up the store of `key`, whose device block is about to be overwritten."""
        if self._unstored.remove(owner_of(key), key) is not None:
            self._untaken.note([key], value=True)

    def places_of(self, key: BlockKey) -> tuple[TierId, ...]:
        """Return the tiers known to have held a block that is no longer on the device or in CPU memory."""
        was_below = self.store.keeps_in_cpu and not self._untaken.get(key)
        return (DEVICE.id, CPU.id) if was_below else (DEVICE.id,)

    def has_taken(self, key: BlockKey) -> bool:
        """Return True if local records show that a full block on the device was copied down or is being copied."""
        return not self._unstored.has(owner_of(key), key)

    @property
    def refuses_stores(self) -> bool:
        """Whether a block waits because the CPU tier had no room at the last attempt."""
        return len(self._unstored) > 0 and self._is_full

    @property
    def num_unstored(self) -> int:
        """Full blocks on the device that the CPU tier has not taken yet."""
        return len(self._unstored)

    @property
    def may_store_soon(self) -> bool:
        """Whether the blocks that wait on the device can be stored within moments, because a lower tier responds.

        A CPU tier that refused a block accepts more as soon as a write to a lower tier has ended.
        """
        if self.store.link_speed() is None:
            return False
        may_retry = not self._unstored or self._clock() >= self._retry_at
        return bool(self._store_jobs) or may_retry or self.store.stats().pending_writes > 0

    def take_loads(self, seconds: float, num_late: int = 0) -> tuple[TransferJob, ...]:
        """Take the copies for the next step from each load in turn.

        seconds: time within which the copies should end, together with `num_late` earlier ones that have not ended.
        """
        return self._ready_loads.take(seconds, num_late)

    def on_computed(self) -> None:
        """Note that a step was computed, which restarts the rest period."""
        self._rested_at = self._clock() + self._rest

    def take_stores(self, limit: int, *, at_rest: bool) -> list[tuple[BlockKey, TransferJob | None]]:
        """Take at most `limit` copies for the next step. The caller pins each device block until its job's result.

        A block that turns out to be in host memory needs no copy: its job is None.

        at_rest: no step is being computed, apart from the one that may be scheduled now.
        """
        now = self._clock()
        if not self._unstored or now < self._retry_at or (at_rest and now < self._rested_at):
            return []
        jobs: list[tuple[BlockKey, TransferJob | None]] = []
        # A block is useless without those before it in its chain, so an owner that is refused waits.
        refused: set[Owner] = set()
        while len(jobs) < limit and (turn := self._unstored.next(refused)) is not None:
            slots = self.store.reserve([turn.key])
            if slots:
                self._unstored.serve(turn)
                self._untaken.take(turn.key)
                job = TransferJob(next(self._job_ids), Direction.STORE, turn.value, slots[0].offset)
                self._store_jobs[job.job_id] = turn.key
                jobs.append((turn.key, job))
            elif self.store.contains(turn.key):
                self._unstored.remove(turn.owner, turn.key)
                jobs.append((turn.key, None))
            else:
                refused.add(turn.owner)
        self._is_full = bool(refused)
        if refused:
            self._retry_at = now + STORE_RETRY_SECONDS
        return jobs

    def _write_missed(self) -> None:
        now = self._clock()
        begin = now >= self._rewrite_at and now >= self._rested_at
        if begin:
            self._rewrite_at = now + REWRITE_SECONDS
        self.store.write_missed(begin=begin)

    # Deletion of blocks

    def erase(self, keys: Iterable[BlockKey]) -> None:
        """Remove blocks from the tiers below: now, or once the copy, load or write that uses them has ended.

        A block that is recomputed and offered in the meantime stays.
        """
        self._erasing.update(keys)
        self._erase()

    @property
    def is_erasing(self) -> bool:
        """Whether a block still has to be erased."""
        return bool(self._erasing)

    def _erase(self) -> None:
        if self._erasing:
            self._erasing = set(self.store.erase(list(self._erasing)))

    # Both directions

    def complete(self, results: Iterable[TransferResult]) -> list[BlockKey]:
        """Process the results of jobs. Return the keys whose STORE ended or failed, for the caller to unpin."""
        stored: list[BlockKey] = []
        for result in results:
            if result.job_id in self._store_jobs:
                key = self._store_jobs.pop(result.job_id)
                wanted = result.error is None and key not in self._erasing
                self.store_seconds.observe(result.seconds)
                self.num_copied_down += result.error is None
                (self.store.commit if wanted else self.store.discard)([key])
                stored.append(key)
            else:
                self._end_load_job(result.job_id, failed=result.error is not None)
                if result.error is None:
                    self.num_copied_up += 1
                    self._ready_loads.on_copied(result.seconds)
        return stored

    def _end_load_job(self, job_id: int, *, failed: bool) -> None:
        """Release the host slot of a copy that has ended or will not be made."""
        load, index = self._load_jobs.pop(job_id)
        load.jobs.discard(job_id)
        self.store.release([load.keys[index]])
        if failed:
            load.failed_at = index if load.failed_at is None else min(load.failed_at, index)

    @property
    def num_loading(self) -> int:
        """Number of loads without an outcome."""
        return len(self._loads)

    @property
    def has_copies(self) -> bool:
        """Whether a step is needed just to copy blocks, now or after the rest period."""
        return len(self._ready_loads) > 0 or (len(self._unstored) > 0 and self._clock() >= self._retry_at)

    def next_poll_seconds(self) -> float | None:
        """Return the seconds until the next poll if no request needs a step; None if nothing is in progress."""
        if self._loads or self._warming.is_busy or self._ahead.is_busy:
            return POLL_SECONDS
        now = self._clock()
        times = [max(self._retry_at - now, self._rested_at - now, 0.0)] if self._unstored else []
        times += [LATE_POLL_SECONDS] if self._fetches.num_late or self._erasing or self._ahead.num_unfinished else []
        times += (
            [max(self._rewrite_at - now, self._rested_at - now, 0.0)] if self.store.write_missed(begin=False) else []
        )
        return min(times, default=None)

    def check(self) -> None:
        """Raise AssertionError if anything is still held while no load and no job is in flight."""
        jobs = {job for load in self._loads.values() for job in load.jobs}
        assert jobs == set(self._load_jobs), "a load's jobs and the jobs in flight differ"
        warming = self._warming.is_busy or self._ahead.is_busy
        if not (self._loads or self._fetches.num_late or warming or self._store_jobs):
            self._fetches.check()
            self.store.check()
