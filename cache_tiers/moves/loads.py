"""Loads of KV blocks from the tiers onto the device.

A load restores the longest run of a request's keys, in windows from the front, four of them ahead. Blocks that another
load is fetching are awaited, not fetched twice. The load ends where waiting costs more than computing.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from cache_tiers.histogram import Histogram
from cache_tiers.moves.fetches import Fetches, KeyRun
from cache_tiers.moves.load_cost import LoadCost
from cache_tiers.moves.ready_loads import ReadyLoads
from cache_tiers.moves.warming import Warming
from cache_tiers.owners.block_key import BlockKey
from cache_tiers.store import KVTierStore, PrefetchResult
from cache_tiers.tier import CPU, TierId
from cache_tiers.transfer import Direction, TransferJob, TransferResult

WINDOWS_AHEAD = 4


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


@dataclass(slots=True, kw_only=True)
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
    warming: KeyRun | None
    moved: float
    submitted: int = 0
    sources: list[TierId] = field(default_factory=list)
    lookup_seconds: float = 0.0
    end: LoadEnd = LoadEnd.WHOLE
    ended: bool = False
    windows: deque[KeyRun] = field(default_factory=deque)
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


class Loads:
    """Owner of the loads in flight, their windows and their copies to the device.

    warming: prefetches of queued requests, which hand their windows over to the loads.
    job_ids: source of job numbers, which stores use too.
    ready: copies that no step has taken yet.
    seconds: duration of loads that delivered a block, by the lowest tier involved.
    num_copied: blocks whose bytes arrived on the device.
    """

    def __init__(
        self,
        store: KVTierStore,
        cost: LoadCost,
        fetches: Fetches,
        warming: Warming,
        job_ids: Iterator[int],
        *,
        clock: Callable[[], float],
    ) -> None:
        self.ready = ReadyLoads(cost.block_nbytes)
        self.seconds = {tier: Histogram.of_seconds() for tier in (CPU.id, *store.stats().lower)}
        self.num_copied = 0
        self._store = store
        self._cost = cost
        self._fetches = fetches
        self._warming = warming
        self._job_ids = job_ids
        self._clock = clock
        self._loads: dict[str, _Load] = {}
        self._jobs: dict[int, tuple[_Load, int]] = {}

    def __len__(self) -> int:
        """Return the number of loads without an outcome."""
        return len(self._loads)

    @property
    def is_any_awaited(self) -> bool:
        """Whether an actual request waits for a load."""
        return not all(load.ahead for load in self._loads.values())

    def succeed(self, former: "Loads") -> None:
        """Take over the counts of a predecessor whose state is in doubt."""
        self.seconds, self.num_copied = former.seconds, former.num_copied

    def begin(
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
        load = _Load(
            load_id=load_id,
            keys=keys,
            block_ids=block_ids,
            began=now,
            compute_seconds=compute_seconds,
            ahead=ahead,
            warmed=warmed,
            warming=adopted,
            moved=now,
        )
        self._loads[load_id] = load
        # Blocks in host memory are available at once: their copies go with the step that is being scheduled.
        self._advance(load)

    def cancel(self, load_id: str) -> None:
        """Stop a load. The outcome still follows, once copies that are part of a step have ended."""
        load = self._loads[load_id]
        self._end(load, LoadEnd.CANCELLED)
        for job in self.ready.drop(load_id):
            self._end_job(job.job_id, failed=True)

    def poll(self) -> list[LoadOutcome]:
        """Advance every load. Return the outcomes of the loads that ended."""
        outcomes = []
        for load in list(self._loads.values()):
            self._advance(load)
            if load.ended and not load.jobs:
                del self._loads[load.load_id]
                outcomes.append(outcome := self._outcome(load))
                if outcome.num_blocks and not load.ahead:
                    self._lowest(outcome.sources).observe(outcome.seconds)
        return outcomes

    def take(self, seconds: float, num_late: int = 0) -> tuple[TransferJob, ...]:
        """Take the copies for the next step from each load in turn.

        seconds: time within which the copies should end, together with `num_late` earlier ones that have not ended.
        """
        return self.ready.take(seconds, num_late)

    def complete(self, result: TransferResult) -> None:
        """Process the result of a copy to the device."""
        self._end_job(result.job_id, failed=result.error is not None)
        if result.error is None:
            self.num_copied += 1
            self.ready.on_copied(result.seconds)

    def check(self) -> None:
        """Raise AssertionError if the jobs of the loads are not the jobs in flight."""
        jobs = {job for load in self._loads.values() for job in load.jobs}
        assert jobs == set(self._jobs), "a load's jobs and the jobs in flight differ"

    def _end_job(self, job_id: int, *, failed: bool) -> None:
        """Release the host slot of a copy that has ended or will not be made."""
        load, index = self._jobs.pop(job_id)
        load.jobs.discard(job_id)
        self._store.release([load.keys[index]])
        if failed:
            load.failed_at = index if load.failed_at is None else min(load.failed_at, index)

    def _lowest(self, sources: Sequence[TierId]) -> Histogram:
        return [seconds for tier, seconds in self.seconds.items() if tier in sources][-1]

    def _to_be_adopted(self, window: KeyRun | None, keys: Sequence[BlockKey]) -> KeyRun | None:
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

    def _next_window(self, load: _Load) -> KeyRun | None:
        """Begin the next window; None while another load or prefetch fetches the next block."""
        speed = self._store.link_speed(load.keys[load.submitted : load.submitted + 1])
        end = load.submitted + self._cost.window(speed, self._store.max_window)
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
        return not self._cost.worth_waiting(
            self._store.link_speed(missing),
            len(missing),
            known=self._store.num_known_below(missing[:1]) == 1,
            asked=now - asked,
            waited=now - max(asked, load.moved),
            compute_seconds=load.compute_seconds_left,
        )

    def _window_arrived(self, load: _Load, window: KeyRun, result: PrefetchResult) -> None:
        for index, slot in enumerate(result.slots, window.start):
            job = TransferJob(next(self._job_ids), Direction.LOAD, load.block_ids[index], slot.offset, slot.key)
            self._jobs[job.job_id] = (load, index)
            load.jobs.add(job.job_id)
            self.ready.add(load.load_id, job)
        load.moved = self._clock()
        for slot, source in zip(result.slots, result.sources, strict=True):
            load.sources.append(self._store.source_of(slot.key) if slot.key in load.warmed else source)
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
