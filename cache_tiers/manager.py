"""Moves of KV blocks between the device and the tiers below it: decides nothing about requests, computes nothing.

Invariants:
- the CPU tier is the only gateway between device and Redis;
- a host slot has one writer and no readers, or readers and no writer;
- a pinned block is never evicted: whoever gets a job keeps its device block until the job's result came back;
- a key is visible only after its bytes are complete and verified;
- losing a tier costs time, never correctness, never a request: every fault below is a shorter load.

A load brings the longest run of a request's keys up, in windows of at most 8 blocks, two windows ahead. A store takes
one full block down; a store that the CPU tier refuses is tried again for as long as its block is on the device.
"""

import itertools
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from cache_tiers.block_key import BlockKey
from cache_tiers.store import KVTierStore, PrefetchResult
from cache_tiers.transfer import Direction, TransferJob, TransferResult

WINDOW = 8
WINDOWS_AHEAD = 2
STORE_RETRY_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class LoadOutcome:
    """The end of a load: the first `from_cpu + from_redis` of its blocks now hold their bytes, in that order."""

    load_id: str
    from_cpu: int
    from_redis: int
    seconds: float

    @property
    def num_blocks(self) -> int:
        """Blocks that arrived."""
        return self.from_cpu + self.from_redis


@dataclass(slots=True)
class _Window:
    start: int
    length: int
    handle: int
    submitted: float


@dataclass(slots=True)
class _Load:
    load_id: str
    keys: Sequence[BlockKey]
    block_ids: Sequence[int]
    began: float
    submitted: int = 0
    arrived: int = 0
    from_cpu: int = 0
    from_redis: int = 0
    ended: bool = False
    windows: deque[_Window] = field(default_factory=deque)
    jobs: set[int] = field(default_factory=set)
    failed_at: int | None = None


class TierManager:
    """Owner of tier look-ups, host pins and jobs in flight. Called from one thread; `clock` gives seconds.

    deadline: a window of a load that has not arrived after that many seconds ends the load; what arrives later stays
    in the CPU tier for the next one. rest: seconds without a computed step before blocks go down by themselves, so that
    whoever answers an answer at once does not find the machine copying.
    """

    def __init__(
        self, store: KVTierStore, *, clock: Callable[[], float], deadline: float, rest: float, redis: bool
    ) -> None:
        self.store = store
        self._clock = clock
        self._deadline = deadline
        self._rest = rest
        self._redis = redis
        self._job_ids = itertools.count()
        self._loads: dict[str, _Load] = {}
        self._late: list[int] = []
        self._load_jobs: dict[int, tuple[_Load, int]] = {}
        self._store_jobs: dict[int, BlockKey] = {}
        self._ready_loads: list[TransferJob] = []
        self._unstored: OrderedDict[BlockKey, int] = OrderedDict()
        self._retry_at = 0.0
        self._rested_at = 0.0

    # Loads

    def may_have(self, key: BlockKey) -> bool:
        """Whether a load of `key` could bring anything; False saves a request the wait."""
        return self._redis or self.store.contains(key)

    def begin_load(self, load_id: str, keys: Sequence[BlockKey], block_ids: Sequence[int]) -> None:
        """Bring the longest run of `keys` into the device blocks `block_ids`, which stay the caller's until the
        outcome is there."""
        load = _Load(load_id, keys, block_ids, self._clock())
        self._loads[load_id] = load
        self._submit_windows(load)
        # What lies in host memory is there at once: its copies go with the step that is being put together.
        self._advance(load)

    def cancel_load(self, load_id: str) -> None:
        """Bring nothing more. The outcome still comes, when the copies that are under way have ended."""
        self._end(self._loads[load_id])

    def poll_loads(self) -> list[LoadOutcome]:
        """Move every load on; returns those that ended."""
        self._late = [handle for handle in self._late if not self._release_late(handle)]
        outcomes = []
        for load in list(self._loads.values()):
            self._advance(load)
            if load.ended and not load.jobs:
                del self._loads[load.load_id]
                outcomes.append(self._outcome(load))
        return outcomes

    def _submit_windows(self, load: _Load) -> None:
        while not load.ended and len(load.windows) < WINDOWS_AHEAD and load.submitted < len(load.keys):
            keys = load.keys[load.submitted : load.submitted + WINDOW]
            handle = self.store.prefetch(keys, redis=self._redis)
            load.windows.append(_Window(load.submitted, len(keys), handle, self._clock()))
            load.submitted += len(keys)

    def _advance(self, load: _Load) -> None:
        while load.windows and not load.ended:
            window = load.windows[0]
            result = self.store.poll(window.handle)
            if result is None:
                if self._clock() - window.submitted > self._deadline:
                    self._end(load)
                return
            load.windows.popleft()
            self._window_arrived(load, window, result)
            self._submit_windows(load)
        if not load.windows and load.submitted == len(load.keys):
            load.ended = True

    def _window_arrived(self, load: _Load, window: _Window, result: PrefetchResult) -> None:
        for index, slot in enumerate(result.slots, window.start):
            job = TransferJob(next(self._job_ids), Direction.LOAD, load.block_ids[index], slot.offset)
            self._load_jobs[job.job_id] = (load, index)
            load.jobs.add(job.job_id)
            self._ready_loads.append(job)
        load.from_cpu += result.from_cpu
        load.from_redis += result.from_redis
        if len(result.slots) < window.length:
            self._end(load)

    def _end(self, load: _Load) -> None:
        load.ended = True
        self._late += [window.handle for window in load.windows]
        load.windows.clear()

    def _release_late(self, handle: int) -> bool:
        result = self.store.poll(handle)
        if result is None:
            return False
        if result.slots:
            self.store.release([slot.key for slot in result.slots])
        return True

    def _outcome(self, load: _Load) -> LoadOutcome:
        cpu, redis = load.from_cpu, load.from_redis
        if load.failed_at is not None:
            cpu = min(cpu, load.failed_at)
            redis = min(redis, load.failed_at - cpu)
        return LoadOutcome(load.load_id, cpu, redis, self._clock() - load.began)

    # Stores

    def offer(self, key: BlockKey, block_id: int) -> None:
        """A block is full: take it down, now or when there is room."""
        if key not in self._unstored and not self.store.contains(key):
            self._unstored[key] = block_id

    def forget(self, key: BlockKey) -> None:
        """The device block of `key` is about to be overwritten."""
        self._unstored.pop(key, None)

    def has_taken(self, key: BlockKey) -> bool:
        """Whether a full block on the device went down, or is on its way, as far as is known without a look-up."""
        return key not in self._unstored

    @property
    def num_unstored(self) -> int:
        """Full blocks on the device that the CPU tier has not taken yet."""
        return len(self._unstored)

    def take_loads(self) -> tuple[TransferJob, ...]:
        """Copies for the next step."""
        jobs, self._ready_loads = tuple(self._ready_loads), []
        return jobs

    def computed(self) -> None:
        """A step was computed: rest begins anew."""
        self._rested_at = self._clock() + self._rest

    def take_stores(self, limit: int, *, at_rest: bool) -> list[tuple[BlockKey, TransferJob]]:
        """At most `limit` copies for the next step. The caller pins each device block until the job's result came.

        at_rest: no step is computed now, but for this one perhaps.
        """
        now = self._clock()
        if not self._unstored or now < self._retry_at or (at_rest and now < self._rested_at):
            return []
        batch = list(itertools.islice(self._unstored, limit))
        slots = {slot.key: slot.offset for slot in self.store.reserve(batch)}
        jobs = []
        for key in batch:
            if key in slots:
                job = TransferJob(next(self._job_ids), Direction.STORE, self._unstored.pop(key), slots[key])
                self._store_jobs[job.job_id] = key
                jobs.append((key, job))
            elif self.store.contains(key):
                del self._unstored[key]
        if len(jobs) < len(batch):
            self._retry_at = now + STORE_RETRY_SECONDS
        return jobs

    # Both ways

    def complete(self, results: Iterable[TransferResult]) -> list[BlockKey]:
        """Take the results of jobs; returns the keys whose STORE ended, well or not, for the caller to unpin."""
        stored: list[BlockKey] = []
        for result in results:
            if result.job_id in self._store_jobs:
                key = self._store_jobs.pop(result.job_id)
                (self.store.commit if result.error is None else self.store.discard)([key])
                stored.append(key)
            else:
                load, index = self._load_jobs.pop(result.job_id)
                load.jobs.discard(result.job_id)
                self.store.release([load.keys[index]])
                if result.error is not None:
                    load.failed_at = index if load.failed_at is None else min(load.failed_at, index)
        return stored

    @property
    def num_loading(self) -> int:
        """Loads without an outcome."""
        return len(self._loads)

    @property
    def has_copies(self) -> bool:
        """Whether a step is wanted just to move blocks, now or after some rest."""
        return bool(self._ready_loads) or (bool(self._unstored) and self._clock() >= self._retry_at)

    def next_poll_seconds(self) -> float | None:
        """How soon to look again although no request asks for a step; None if nothing is under way."""
        if self._loads or self._late:
            return 0.001
        now = self._clock()
        return max(self._retry_at - now, self._rested_at - now, 0.0) if self._unstored else None

    def check(self) -> None:
        """Raise AssertionError if, with no load and no job under way, something is still held."""
        jobs = {job for load in self._loads.values() for job in load.jobs}
        assert jobs == set(self._load_jobs), "a load's jobs and the jobs in flight differ"
        if not self._loads and not self._late and not self._store_jobs:
            self.store.check()
