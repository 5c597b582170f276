"""Moves of KV blocks between the device and the tiers below it: decides nothing about requests, computes nothing.

Invariants:
- the CPU tier is the only gateway between device and Redis;
- a host slot has one writer and no readers, or readers and no writer;
- a pinned block is never evicted: whoever gets a job keeps its device block until the job's result came back;
- a key is visible only after its bytes are complete and verified;
- losing a tier costs time, never correctness, never a request: every fault below is a shorter load.

A load brings the longest run of a request's keys up, in windows from the front, four of them ahead; what another load
is already bringing is waited for, not fetched twice. It ends where waiting costs more than computing. Before it, while
a request waits for its turn, warming brings them as far as host memory. A store takes one full block down; a store that
the CPU tier refuses is tried again for as long as its block is on the device, and one that Redis did not get because it
was away for as long as its block is in host memory.
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
from cache_tiers.link_speed import LinkSpeed
from cache_tiers.load_cost import LoadCost
from cache_tiers.owners import Owners
from cache_tiers.ready_loads import ReadyLoads
from cache_tiers.recent_keys import RecentKeys
from cache_tiers.store import KVTierStore, PrefetchResult
from cache_tiers.transfer import Direction, TransferJob, TransferResult
from cache_tiers.warming import Warming

WINDOWS_AHEAD = 4
STORE_RETRY_SECONDS = 0.1
PROBE_EVERY_SECONDS = 5.0
MOST_UNTAKEN = 1 << 12
POLL_SECONDS = 0.001
LATE_POLL_SECONDS = 0.02
REWRITE_SECONDS = 0.1


class LoadEnd(Enum):
    """How a load ended."""

    WHOLE = auto()
    RUN_ENDED = auto()
    """The tiers did not have, or not give, the block behind the last one that came."""
    TOO_SLOW = auto()
    COPY_FAILED = auto()
    CANCELLED = auto()


@dataclass(frozen=True, slots=True)
class LoadOutcome:
    """The end of a load: the first `from_cpu + from_redis` of its blocks now hold their bytes, in that order.

    lookup_seconds: of `seconds`, until Redis had said what it has of the first window that was asked of it.
    """

    load_id: str
    from_cpu: int
    from_redis: int
    seconds: float
    lookup_seconds: float = 0.0
    end: LoadEnd = LoadEnd.WHOLE

    @property
    def num_blocks(self) -> int:
        """Blocks that arrived."""
        return self.from_cpu + self.from_redis


@dataclass(slots=True)
class _Load:
    """compute_seconds: what computing all its blocks would take; None: unknown. ahead: nobody waits for it, nor
    does it wait for Redis. warmed: what came from Redis for it before it began; warming: the window of that which was
    under way then, until its turn comes. moved: when a window last arrived."""

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
    arrived: int = 0
    from_cpu: int = 0
    from_redis: int = 0
    lookup_seconds: float = 0.0
    end: LoadEnd = LoadEnd.WHOLE
    ended: bool = False
    windows: deque[Window] = field(default_factory=deque)
    jobs: set[int] = field(default_factory=set)
    failed_at: int | None = None

    @property
    def compute_seconds_left(self) -> float | None:
        """What computing the blocks that have not arrived would take."""
        if self.compute_seconds is None:
            return None
        return self.compute_seconds * (len(self.keys) - self.arrived) / len(self.keys)


class TierManager:
    """Owner of tier look-ups, host pins and jobs in flight. Called from one thread; `clock` gives seconds.

    cost: says when a load is no longer worth its wait; what arrives later stays in the CPU tier for the next one.
    load_seconds: of loads that brought a request something, by the lowest tier that it came from. store_seconds: of
    each copy down. num_copied_up, num_copied_down: blocks whose bytes arrived, on the device and in host memory.
    rest: seconds without a computed step before blocks go down by themselves, so that
    whoever answers an answer at once does not find the machine copying.
    """

    def __init__(
        self,
        store: KVTierStore,
        cost: LoadCost,
        *,
        clock: Callable[[], float],
        rest: float,
        redis: bool,
        owners: Owners | None = None,
    ) -> None:
        owners = owners if owners is not None else Owners()
        self.store = store
        self.cost = cost
        self._clock = clock
        self._rest = rest
        self._redis = redis
        self._fetches = Fetches(store, clock=clock, redis=redis)
        most_blocks = store.stats().cpu_capacity_bytes // cost.block_nbytes if store.keeps_in_cpu else 0
        self._warming = Warming(store, self._fetches, cost, owners, most_blocks=most_blocks // 2)
        self._ahead = Warming(store, self._fetches, cost, owners, most_blocks=most_blocks // 4, most_windows=1)
        self._job_ids = itertools.count()
        self._loads: dict[str, _Load] = {}
        self._load_jobs: dict[int, tuple[_Load, int]] = {}
        self._store_jobs: dict[int, BlockKey] = {}
        self._ready_loads = ReadyLoads(cost.block_nbytes)
        self._unstored: FairLine[BlockKey, int] = FairLine(owners)
        self._erasing: set[BlockKey] = set()
        self._untaken: RecentKeys[bool] = RecentKeys(MOST_UNTAKEN, owners)
        self._retry_at = 0.0
        self._rewrite_at = 0.0
        self._rested_at = 0.0
        self._probe_at = 0.0
        self.load_seconds = {"cpu": Histogram.of_seconds(), "redis": Histogram.of_seconds()}
        self.store_seconds = Histogram.of_seconds()
        self.num_copied_up = 0
        self.num_copied_down = 0

    def succeed(self, former: "TierManager") -> None:
        """Take over the store from a manager whose state is in doubt. No copy of the former manager may be under way.

        Of the former manager's state, only blocks that must be erased and the counts since the start are kept.
        """
        self._fetches.adopt(self.store.abandon())
        self._erasing |= former._erasing
        self.load_seconds, self.store_seconds = former.load_seconds, former.store_seconds
        self.num_copied_up, self.num_copied_down = former.num_copied_up, former.num_copied_down

    # What is where

    def num_in_cpu(self, keys: Sequence[BlockKey]) -> int:
        """How many of the first keys lie in host memory."""
        return next((index for index, key in enumerate(keys) if not self.store.contains(key)), len(keys))

    @property
    def has_redis(self) -> bool:
        """Whether there is one, answering or not."""
        return self._redis

    @property
    def redis_speed(self) -> LinkSpeed | None:
        """Of the way to Redis; None if there is none, or it is left alone for now."""
        return self.store.redis_speed if self._redis else None

    def probe(self, key: BlockKey) -> None:
        """Fetch a block for which nobody waits, now and then: a link that was too slow may be faster by now."""
        now = self._clock()
        if now >= self._probe_at and not self._fetches.num_late and self._fetches.num_unclaimed([key]):
            self._probe_at = now + PROBE_EVERY_SECONDS
            self._fetches.leave([self._fetches.begin(0, [key])])

    def wanted(self, chain: Sequence[BlockKey]) -> None:
        """A request is about to use these: what follows them should not push them out."""
        self.store.wanted(chain)

    def used(self, chain: Sequence[BlockKey], num_found: int) -> None:
        """A request had these blocks, from its first on; `num_found` of them were there before it came."""
        self.store.used(chain, num_found)

    # Loads

    def warm(self, load_id: str, keys: Sequence[BlockKey]) -> None:
        """Bring the longest run of `keys` into host memory, for a load that will begin later."""
        self._warming.begin(load_id, keys)
        self._warming.advance()

    def missing(self, load_id: str) -> BlockKey | None:
        """The key at which warming ended, because Redis does not have it, or does not answer."""
        return self._warming.missing(load_id)

    def stop_warming(self, load_id: str) -> None:
        """There will be no such load."""
        self._warming.end(load_id)

    @property
    def most_blocks_ahead(self) -> int:
        """How many blocks may be brought for those who have not asked yet."""
        return self._ahead.most_blocks

    @property
    def num_warmed_ahead(self) -> int:
        """For how many of them something is still to be brought."""
        return self._ahead.num_unfinished

    @property
    def num_brought_ahead(self) -> int:
        """How many blocks came from Redis for those who had not asked yet, since the start."""
        return self._ahead.num_brought

    def warm_ahead(self, name: str, keys: Sequence[BlockKey]) -> None:
        """Bring the longest run of `keys` into host memory, for somebody who may ask: one window at a time, and none
        while a request's blocks are on their way, so that it waits for one window at most."""
        self._ahead.begin(name, keys)

    def stop_warming_ahead(self, name: str) -> int:
        """Bring nothing more; returns how many blocks came, or will, from Redis for it."""
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
        """Bring the longest run of `keys` into the device blocks `block_ids`, which stay the caller's until the
        outcome is there. compute_seconds: what computing all of them would take; None: unknown. ahead: for somebody who
        may ask; only what lies in host memory, so that it ends with the next step."""
        now = self._clock()
        warmed, window = self._warming.hand_over(load_id)
        adopted = self._to_be_adopted(window, keys)
        load = _Load(load_id, keys, block_ids, now, compute_seconds, ahead, warmed, adopted, now)
        self._loads[load_id] = load
        # What lies in host memory is there at once: its copies go with the step that is being put together.
        self._advance(load)

    def cancel_load(self, load_id: str) -> None:
        """Bring nothing more. The outcome still comes, when the copies that are part of a step have ended."""
        load = self._loads[load_id]
        self._end(load, LoadEnd.CANCELLED)
        for job in self._ready_loads.drop(load_id):
            self._end_load_job(job.job_id, failed=True)

    def poll_loads(self) -> list[LoadOutcome]:
        """Move every load on; returns those that ended."""
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
                    self.load_seconds["redis" if outcome.from_redis else "cpu"].observe(outcome.seconds)
        self._erase()
        return outcomes

    def _to_be_adopted(self, window: Window | None, keys: Sequence[BlockKey]) -> Window | None:
        """What was being warmed becomes a window of the load, if all of it is among its keys."""
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
        """None while somebody else fetches what comes next."""
        end = load.submitted + self.cost.window(self.store.redis_speed, self.store.max_window)
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
            self.store.redis_speed,
            len(missing),
            known=self.store.num_known_in_redis(missing[:1]) == 1,
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
        load.arrived += len(result.slots)
        warmed = sum(slot.key in load.warmed for slot in result.slots[: result.from_cpu])
        load.from_cpu += result.from_cpu - warmed
        load.from_redis += result.from_redis + warmed
        load.lookup_seconds = load.lookup_seconds or result.lookup_seconds
        if len(result.slots) < len(window.keys):
            self._end(load, LoadEnd.RUN_ENDED)

    def _end(self, load: _Load, end: LoadEnd) -> None:
        load.ended, load.end = True, end
        self._fetches.leave([*load.windows, *([load.warming] if load.warming is not None else [])])
        load.warming = None
        load.windows.clear()

    def _outcome(self, load: _Load) -> LoadOutcome:
        cpu, redis = load.from_cpu, load.from_redis
        if load.failed_at is not None:
            cpu = min(cpu, load.failed_at)
            redis = min(redis, load.failed_at - cpu)
            load.end = LoadEnd.COPY_FAILED
        return LoadOutcome(load.load_id, cpu, redis, self._clock() - load.began, load.lookup_seconds, load.end)

    # Stores

    def offer(self, key: BlockKey, block_id: int) -> bool:
        """Copy a full block down, now or when there is room. Returns whether it waits for that."""
        self._erasing.discard(key)
        if self.has_taken(key) and not self.store.contains(key):
            self._unstored.add(owner_of(key), key, block_id)
        return not self.has_taken(key)

    def forget(self, key: BlockKey) -> None:
        """The device block of `key` is about to be overwritten."""
        if self._unstored.remove(owner_of(key), key) is not None:
            self._untaken.note([key], value=True)

    def places_of(self, key: BlockKey) -> tuple[str, ...]:
        """Where a block was that is neither on the device nor in CPU memory any more, as far as is known."""
        was_below = self.store.keeps_in_cpu and not self._untaken.get(key)
        return ("device", "cpu") if was_below else ("device",)

    def has_taken(self, key: BlockKey) -> bool:
        """Whether a full block on the device went down, or is on its way, as far as is known without a look-up."""
        return not self._unstored.has(owner_of(key), key)

    @property
    def refuses_stores(self) -> bool:
        """Whether the CPU tier had no room for a block a moment ago, and there is one that waits for it."""
        return len(self._unstored) > 0 and self._clock() < self._retry_at

    @property
    def num_unstored(self) -> int:
        """Full blocks on the device that the CPU tier has not taken yet."""
        return len(self._unstored)

    @property
    def may_store_soon(self) -> bool:
        """Whether blocks that wait on the device can go down within moments, on their way to a Redis that answers.

        A CPU tier that refused one takes more as soon as a write to Redis has ended.
        """
        if not self._redis or self.store.redis_speed is None:
            return False
        return bool(self._store_jobs) or not self.refuses_stores or self.store.stats().redis_pending_writes > 0

    def take_loads(self, seconds: float, num_late: int = 0) -> tuple[TransferJob, ...]:
        """Take the copies for the next step: what should be copied within `seconds` behind `num_late` earlier ones, of
        each load in turn."""
        return self._ready_loads.take(seconds, num_late)

    def computed(self) -> None:
        """A step was computed: rest begins anew."""
        self._rested_at = self._clock() + self._rest

    def take_stores(self, limit: int, *, at_rest: bool) -> list[tuple[BlockKey, TransferJob | None]]:
        """Take at most `limit` copies for the next step. The caller pins each device block until the job's result came.

        A block that turns out to be in host memory needs no copy: its job is None.
        at_rest: no step is computed now, but for this one perhaps.
        """
        now = self._clock()
        if not self._unstored or now < self._retry_at or (at_rest and now < self._rested_at):
            return []
        jobs: list[tuple[BlockKey, TransferJob | None]] = []
        # What follows in a chain is worth nothing without what comes before: an owner that is refused waits.
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
        if refused:
            self._retry_at = now + STORE_RETRY_SECONDS
        return jobs

    def _write_missed(self) -> None:
        now = self._clock()
        begin = now >= self._rewrite_at and now >= self._rested_at
        if begin:
            self._rewrite_at = now + REWRITE_SECONDS
        self.store.write_missed(begin=begin)

    # Blocks that nobody shall find again

    def erase(self, keys: Iterable[BlockKey]) -> None:
        """Remove blocks from the tiers below: now, or when the copy, load or write that they are part of has ended.
        One that is computed anew and offered meanwhile stays."""
        self._erasing.update(keys)
        self._erase()

    @property
    def is_erasing(self) -> bool:
        """Whether a block waits for that."""
        return bool(self._erasing)

    def _erase(self) -> None:
        if self._erasing:
            self._erasing = set(self.store.erase(list(self._erasing)))

    # Both ways

    def complete(self, results: Iterable[TransferResult]) -> list[BlockKey]:
        """Take the results of jobs; returns the keys whose STORE ended, well or not, for the caller to unpin."""
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
                    self._ready_loads.copied(result.seconds)
        return stored

    def _end_load_job(self, job_id: int, *, failed: bool) -> None:
        """Let go of the host slot of a copy that has ended, or will not be made."""
        load, index = self._load_jobs.pop(job_id)
        load.jobs.discard(job_id)
        self.store.release([load.keys[index]])
        if failed:
            load.failed_at = index if load.failed_at is None else min(load.failed_at, index)

    @property
    def num_loading(self) -> int:
        """Loads without an outcome."""
        return len(self._loads)

    @property
    def has_copies(self) -> bool:
        """Whether a step is wanted just to move blocks, now or after some rest."""
        return len(self._ready_loads) > 0 or (len(self._unstored) > 0 and self._clock() >= self._retry_at)

    def next_poll_seconds(self) -> float | None:
        """How soon to look again although no request asks for a step; None if nothing is under way."""
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
        """Raise AssertionError if, with no load and no job under way, something is still held."""
        jobs = {job for load in self._loads.values() for job in load.jobs}
        assert jobs == set(self._load_jobs), "a load's jobs and the jobs in flight differ"
        warming = self._warming.is_busy or self._ahead.is_busy
        if not (self._loads or self._fetches.num_late or warming or self._store_jobs):
            self._fetches.check()
            self.store.check()
