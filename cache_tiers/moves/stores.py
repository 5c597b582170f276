"""Stores of full KV blocks from the device into the tiers below.

A store that the CPU tier refuses, or whose copy fails, is retried for as long as the block is on the device. A store
that a lower tier missed while it was unavailable is retried for as long as the block is in host memory. A deferred
block goes to host memory, and to the lower tiers once a request finds it, or after a longer rest.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from cache_tiers.histogram import Histogram
from cache_tiers.owners.block_key import BlockKey, Owner, owner_of
from cache_tiers.owners.fair_line import FairLine
from cache_tiers.owners.owners import Owners
from cache_tiers.owners.recent_keys import RecentKeys
from cache_tiers.store import KVTierStore
from cache_tiers.tier import CPU, DEVICE, TierId
from cache_tiers.transfer import Direction, TransferJob, TransferResult

STORE_RETRY_SECONDS = 0.1
REWRITE_SECONDS = 0.1
IDLE_SECONDS = 5.0
"""Seconds without a computed step after which deferred blocks are written."""
MAX_UNTAKEN = 1 << 12


class Stores:
    """Owner of the blocks that wait to be stored and of their copies in flight.

    job_ids: source of job numbers, which loads use too.
    rest: seconds without a computed step before blocks go down on their own.
    seconds: duration of each copy down.
    num_copied: blocks whose bytes arrived in host memory.
    """

    def __init__(
        self, store: KVTierStore, owners: Owners, job_ids: Iterator[int], *, clock: Callable[[], float], rest: float
    ) -> None:
        self.seconds = Histogram.of_seconds()
        self.num_copied = 0
        self._store = store
        self._job_ids = job_ids
        self._clock = clock
        self._rest = rest
        self._jobs: dict[int, BlockKey] = {}
        self._deferred: set[BlockKey] = set()
        """Of the blocks that wait or are being copied, those that are to be deferred."""
        self._unstored: FairLine[BlockKey, int] = FairLine(owners)
        self._hasty: set[BlockKey] = set()
        self._untaken: RecentKeys[bool] = RecentKeys(MAX_UNTAKEN, owners)
        self._is_full = False
        self._idle_refusals = 0
        self._retry_at = 0.0
        self._rewrite_at = 0.0
        self._rested_at = 0.0
        self._idle_at = 0.0

    def succeed(self, former: "Stores") -> None:
        """Take over the counts of a predecessor whose state is in doubt."""
        self.seconds, self.num_copied = former.seconds, former.num_copied

    def offer(self, key: BlockKey, block_id: int, *, deferred: bool | None = None) -> bool:
        """Copy a full block down, now or once there is room. Return whether the block still has to wait.

        deferred: keep the block from the lower tiers until `admit`, or until the machine is idle. None: as in the
            earlier offer, if its copy failed.
        """
        if self.has_taken(key) and not self._store.contains(key):
            self._unstored.add(owner_of(key), key, block_id)
            if deferred:
                self._deferred.add(key)
        if deferred is False:
            self.admit([key])
        return not self.has_taken(key)

    def admit(self, keys: Sequence[BlockKey]) -> None:
        """Write blocks to the lower tiers that were deferred, now or once they are in host memory."""
        self._deferred.difference_update(keys)
        self._store.admit(keys)

    def hasten(self, keys: Iterable[BlockKey]) -> None:
        """Copy those of `keys` that wait with the next steps, whatever else these compute, and write them below."""
        wanted = list(keys)
        self._hasty.update(key for key in wanted if not self.has_taken(key))
        self.admit(wanted)

    @property
    def num_hasty(self) -> int:
        """Number of blocks whose copy must not wait."""
        return len(self._hasty)

    def forget(self, key: BlockKey) -> None:
        """Give up the store of `key`, whose device block is about to be overwritten."""
        self._hasty.discard(key)
        self._deferred.discard(key)
        if self._unstored.remove(owner_of(key), key) is not None:
            self._untaken.note([key], value=True)

    def places_of(self, key: BlockKey) -> tuple[TierId, ...]:
        """Return the tiers known to have held a block that is no longer on the device or in CPU memory."""
        was_below = self._store.keeps_in_cpu and not self._untaken.get(key)
        return (DEVICE.id, CPU.id) if was_below else (DEVICE.id,)

    def has_taken(self, key: BlockKey) -> bool:
        """Return True if local records show that a full block on the device was copied down or is being copied."""
        return not self._unstored.has(owner_of(key), key)

    @property
    def is_refused(self) -> bool:
        """Whether a block waits because the CPU tier had no room at the last attempt."""
        return len(self._unstored) > 0 and self._is_full

    @property
    def num_unstored(self) -> int:
        """Full blocks on the device that the CPU tier has not taken yet."""
        return len(self._unstored)

    @property
    def may_store_soon(self) -> bool:
        """Whether the blocks that wait on the device can be stored within moments, because a lower tier responds.

        A CPU tier that refused a block accepts more once a write to a lower tier has ended: shortly after that tier
        counts it as ended. So a single refusal without a pending write does not mean that nothing will change.
        """
        if self._store.link_speed() is None:
            return False
        may_retry = not self._unstored or self._clock() >= self._retry_at or self._idle_refusals < 2
        return bool(self._jobs) or may_retry or self._is_writing

    @property
    def _is_writing(self) -> bool:
        return self._store.stats().pending_writes > 0

    def on_computed(self) -> None:
        """Note that a step was computed, which restarts the rest period."""
        now = self._clock()
        self._rested_at, self._idle_at = now + self._rest, now + IDLE_SECONDS

    def take(self, limit: int, *, at_rest: bool) -> list[tuple[BlockKey, TransferJob | None]]:
        """Take at most `limit` copies for the next step. The caller pins each device block until its job's result.

        A block that turns out to be in host memory needs no copy: its job is None.

        at_rest: no step is being computed, apart from the one that may be scheduled now.
        """
        now = self._clock()
        is_early = at_rest and now < self._rested_at and not self._hasty
        if not self._unstored or now < self._retry_at or is_early:
            return []
        jobs: list[tuple[BlockKey, TransferJob | None]] = []
        # A block is useless without those before it in its chain, so an owner that is refused waits.
        refused: set[Owner] = set()
        while len(jobs) < limit and (turn := self._unstored.next(refused)) is not None:
            slots = self._store.reserve([turn.key])
            if slots:
                self._unstored.serve(turn)
                self._hasty.discard(turn.key)
                self._untaken.take(turn.key)
                job = TransferJob(next(self._job_ids), Direction.STORE, turn.value, slots[0].offset, turn.key)
                self._jobs[job.job_id] = turn.key
                jobs.append((turn.key, job))
            elif self._store.contains(turn.key):
                self._unstored.remove(turn.owner, turn.key)
                self._hasty.discard(turn.key)
                self._deferred.discard(turn.key)
                jobs.append((turn.key, None))
            else:
                refused.add(turn.owner)
        self._is_full = bool(refused)
        if jobs or self._is_writing:
            self._idle_refusals = 0
        elif refused:
            self._idle_refusals += 1
        if refused:
            self._retry_at = now + STORE_RETRY_SECONDS
        return jobs

    def write_missed(self) -> None:
        """Write blocks again that a lower tier missed, and deferred ones, at intervals and at rest."""
        now = self._clock()
        begin = now >= self._rewrite_at and now >= self._rested_at
        if begin:
            self._rewrite_at = now + REWRITE_SECONDS
            if now >= self._idle_at and self._store.num_deferred:
                self._store.write_deferred()
        self._store.write_missed(begin=begin)

    def is_store(self, job_id: int) -> bool:
        """Return whether the job `job_id` is a copy down."""
        return job_id in self._jobs

    def complete(self, result: TransferResult, *, is_erased: Callable[[BlockKey], bool]) -> BlockKey:
        """Process the result of a copy down and return its key.

        is_erased: whether a block must not become visible.
        """
        key = self._jobs.pop(result.job_id)
        erased = is_erased(key)
        wanted = result.error is None and not erased
        self.seconds.observe(result.seconds)
        self.num_copied += result.error is None
        if result.error is not None:
            self._retry_at = self._clock() + STORE_RETRY_SECONDS
        if wanted:
            self._store.commit([key], deferred=key in self._deferred)
        else:
            self._store.discard([key])
        if result.error is None or erased:
            self._deferred.discard(key)
        return key

    @property
    def num_outside(self) -> int:
        """Number of full blocks on the device that are not in the CPU tier yet: they wait, or are being copied."""
        return len(self._unstored) + len(self._jobs)

    @property
    def num_copying(self) -> int:
        """Number of copies in flight."""
        return len(self._jobs)

    @property
    def may_take(self) -> bool:
        """Whether blocks wait and may be tried, now or after the rest period."""
        return len(self._unstored) > 0 and self._clock() >= self._retry_at

    def next_poll_seconds(self) -> float | None:
        """Return the seconds until the next attempt to store or to write again; None if nothing waits."""
        now = self._clock()
        rested_at = 0.0 if self._hasty else self._rested_at
        times = [max(self._retry_at - now, rested_at - now, 0.0)] if self._unstored else []
        times += (
            [max(self._rewrite_at - now, self._rested_at - now, 0.0)] if self._store.write_missed(begin=False) else []
        )
        times += [max(self._rewrite_at - now, self._idle_at - now, 0.0)] if self._store.num_deferred else []
        return min(times, default=None)
