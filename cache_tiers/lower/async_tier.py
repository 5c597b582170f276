"""A tier below CPU memory over a backend of blocking methods, in whatever state that tier is.

Every operation completes: with its result, or as a miss or a failure if the tier is unavailable, slow, full or wrong.
The result is passed to a callback exactly once: on a thread of the tier, or on the caller's own if nothing was tried.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from cache_tiers.histogram import Histogram
from cache_tiers.lower.backend import Refusal, TierBackend, TierClient
from cache_tiers.lower.block import Block
from cache_tiers.lower.block_line import BlockLine, Load, Outcome
from cache_tiers.lower.block_values import BlockValues
from cache_tiers.lower.breaker import CircuitBreaker
from cache_tiers.lower.job_queue import JobQueue
from cache_tiers.lower.jobs import EraseJob, FindJob, Job, KeepJob, LoadJob, PromiseJob, PutJob
from cache_tiers.lower.known_keys import KnownKeys
from cache_tiers.lower.lane import Lane
from cache_tiers.lower.link_speed import LinkMeter, LinkSpeed
from cache_tiers.lower.misses import TierMiss, TierMissReason
from cache_tiers.lower.promise import Promised, PromiseTerms
from cache_tiers.lower.readers import ReadForecast
from cache_tiers.lower.sealed_value import Reject
from cache_tiers.lower.tier import LowerTierOptions, LowerTierStats
from cache_tiers.lower.watcher import TierWatcher
from cache_tiers.lower.write_gate import WriteGate
from cache_tiers.lower.write_ledger import WriteLedger
from cache_tiers.owners.block_key import Owner, owner_of
from cache_tiers.owners.recent_keys import RecentKeys

logger = logging.getLogger(__name__)

MAX_KNOWN: Final = 1 << 16
MAX_RECENT: Final = 1 << 12
_PATIENCE_SECONDS: Final = 5.0
"""Time in which all threads together should end."""
_KEEP_BYTES: Final = 128
"""Bytes for which a key counts in the queue of writes that are to be kept."""


class AsyncTier:
    """A tier below CPU memory. Thread-safe.

    No method waits for the tier, except for `flush` and `close`. The constructor makes one attempt to reach the tier,
    and succeeds without it.

    gives_promises: whether the tier can keep blocks whatever others store there.
    """

    def __init__(self, backend: TierBackend, options: LowerTierOptions, meter: LinkMeter | None = None) -> None:
        """Open the tier behind `backend`. `meter` measures the link; None for a new one."""
        about, owners = backend.description, options.owners
        self.tier = about.tier
        self.gives_promises = about.gives_promises
        self._renew_seconds = about.renew_seconds
        self._values = BlockValues(options.seal, options.block_nbytes, about.max_value_bytes)
        self._ledger = WriteLedger()
        self._breaker = CircuitBreaker(about.tier.name, about.place)
        self._gate = WriteGate(about.tier.name, about.place)
        self._meter = meter if meter is not None else LinkMeter()
        self._block_nbytes = options.block_nbytes
        self._queue = JobQueue(options.writes, about.write_lanes)
        self._line = BlockLine(about.lanes)
        self._known = KnownKeys(MAX_KNOWN, owners)
        self._missed: RecentKeys[None] = RecentKeys(MAX_KNOWN, owners)
        self._renewing = 0
        self._lock = threading.Lock()
        self._loaded = 0
        self._shed = 0
        self._written_bytes = 0
        self._rejected: Counter[Reject] = Counter()
        self._lookup_seconds = Histogram.of_seconds()
        self._store_seconds = Histogram.of_seconds()
        self._lookups: RecentKeys[float] = RecentKeys(MAX_RECENT, owners)
        self._missing: RecentKeys[TierMiss] = RecentKeys(MAX_RECENT, owners)
        self._unwritten: RecentKeys[str] = RecentKeys(MAX_RECENT, owners)
        self._hang_seconds = about.hang_seconds
        self._lanes: list[Lane] = []
        connect = partial(backend.connect, self._meter, TierClient(options.seal.fingerprint, owners))
        self._watcher = TierWatcher(backend, connect, self._breaker, self._gate, self._hangs)
        self._lanes += [
            Lane(f"{about.tier.id}-blocks-{index}", backend, connect, self._queue, self._breaker, self._gate)
            for index in range(about.threads)
        ]

    @property
    def available(self) -> bool:
        """Whether operations are attempted at present."""
        return not self._hangs() and self._breaker.closed

    def _hangs(self) -> bool:
        """Return whether a lane waits for the tier without progress.

        In that case, leave the tier out, and end everything that waits for a lane. The work of the lanes themselves
        ends when the tier answers.
        """
        seconds = self._hang_seconds
        if seconds is None or not any(lane.hangs(seconds) for lane in self._lanes):
            return False
        self._breaker.trip(f"{self.tier.name} does not answer")
        for job in self._queue.take_all():
            job.finish()
        for queued in self._line.take_all():
            self._line.settle(queued, None)
        return True

    @property
    def speed(self) -> LinkSpeed:
        """Speed of the link to the tier, estimated from recent operations."""
        return self._meter.speed

    @property
    def forecast(self) -> ReadForecast | None:
        """Expected duration of reads, behind the blocks that wait; None if the speed was never measured."""
        speed = self._meter.speed
        if speed.answer_seconds is None or not speed.bytes_per_second:
            return None
        block_seconds = self._block_nbytes / speed.bytes_per_second
        return ReadForecast(speed.answer_seconds + len(self._line) * block_seconds, block_seconds)

    def announce(self, keys: Sequence[bytes]) -> None:
        """Note blocks that will be passed to `put` at any moment. Their lag counts from now."""
        self._ledger.commit(keys)

    def awaits_put(self, key: bytes) -> bool:
        """Return True if a block has been announced and `put` has not been called with it yet."""
        return self._ledger.awaits_handover(key)

    def make_room(self, nbytes: int) -> None:
        """Make room for blocks that are about to be put into this tier and others, at the cost of slower ones."""
        if self._accepts_writes:
            self._shed_writes(self._queue.make_room(nbytes))

    def put(self, blocks: Sequence[Block], done: Callable[[bool], None]) -> None:
        """Write the blocks. `done` receives True if all were stored; their memory must not change until then."""
        self._ledger.handed_over([block.key for block in blocks])
        lock = threading.Lock()
        left = len(blocks)
        all_stored = True

        def settle(job: PutJob) -> None:
            nonlocal left, all_stored
            self._count_put(job)
            with lock:
                left -= 1
                all_stored = all_stored and job.stored
                last = left == 0
            if last:
                done(all_stored)

        if not blocks:
            done(True)
        for block in blocks:
            job = PutJob(block, self._values, settle, is_there=self._known.is_whole)
            if not self._accepts_writes:
                job.finish()
            else:
                self._queue_write(job, block, block.payload.nbytes, owner_of(block.key))

    @property
    def _accepts_writes(self) -> bool:
        return self.available and self._gate.is_open

    def _queue_write(self, job: PutJob | KeepJob, memory: object, nbytes: int, owner: Owner) -> None:
        self._shed_writes(self._queue.put_write(job, memory, nbytes, owner))

    def _shed_writes(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            job.was_shed = True
            job.finish()

    @property
    def num_missed(self) -> int:
        """Blocks that the tier lost, or that did not reach it: it was unavailable, refused them or had a full queue."""
        return len(self._missed)

    @property
    def may_miss_more(self) -> bool:
        """Whether a pending reply could add to the missed blocks."""
        return self._renewing > 0 or self._ledger.pending > 0

    def take_missed(self, most: int) -> list[bytes]:
        """Take at most `most` missed blocks to put again, oldest first.

        The list is empty while the tier is unavailable or refuses writes, or many writes are pending.
        """
        if not self._accepts_writes or self._ledger.pending >= most:
            return []
        return self._missed.take_oldest(most)

    def renew(self, chain: Sequence[bytes]) -> None:
        """Mark blocks as used that were used in a tier above. This one then evicts them last, the first last of all."""
        due = self._known.take_due(chain, self._renew_seconds)[::-1]

        def settle(there: list[bool] | Refusal | None) -> None:
            if isinstance(there, Refusal):
                self._gate.on_refused(there.words)
            elif there is not None:
                self._known.learn(due, there, whole=False)
                self._missed.note([key for key, is_there in zip(due, there, strict=True) if not is_there], None)
            with self._lock:
                self._renewing -= 1

        if due and self._accepts_writes:
            with self._lock:
                self._renewing += 1
            job = KeepJob(due, self._values, settle)
            self._queue_write(job, job, _KEEP_BYTES * len(due), owner_of(due[-1]))

    def num_known(self, keys: Sequence[bytes]) -> int:
        """Return the length of the leading run of `keys` that the tier should hold, without asking it.

        Keys that `find` or `load` has just found, or `put` has stored, count until an answer says otherwise.
        """
        return self._known.run(keys)

    def find(self, keys: Sequence[bytes], done: Callable[[list[bool]], None]) -> None:
        """Look up which keys the tier holds. If all are known, `done` is called at once, without asking the tier."""

        def settle(found: list[bool]) -> None:
            if job.answered:
                seconds = time.monotonic() - asked
                self._lookups.note(keys[:1], seconds)
                with self._lock:
                    self._lookup_seconds.observe(seconds)
                self._note_answer(keys, found)
                self._known.learn(keys, found, whole=False)
            else:
                self.note_unanswered(keys)
            done(found)

        if self._known.run(keys) == len(keys):
            for key in keys[:1]:
                self._lookups.take(key)
            done([True] * len(keys))
            return
        asked = time.monotonic()
        job = FindJob(keys, settle)
        if not (self.available and self._queue.put_read(job)):
            job.finish()

    def load(self, blocks: Sequence[Block], done: Callable[[list[bool]], None]) -> None:
        """Fill the blocks' memory. `done` receives True for each block that is complete and verified.

        The memory of the other blocks then holds garbage.
        """

        def settle(outcomes: list[Outcome]) -> None:
            self._learn_from_load(blocks, outcomes)
            with self._lock:
                self._loaded += sum(outcome is True for outcome in outcomes)
            done([outcome is True for outcome in outcomes])

        self._load(Load(blocks, settle))

    def measure(self, key: bytes) -> None:
        """Read a block that no caller waits for, to learn the current speed of the link."""
        blocks = [Block(key, memoryview(bytearray(self._block_nbytes)))]
        self._load(Load(blocks, lambda outcomes: self._learn_from_load(blocks, outcomes)))

    def _load(self, load: Load) -> None:
        if not (load.blocks and self.available):
            load.done(load.outcomes)
            return
        for _ in range(self._line.add(load)):
            job = LoadJob(self._line, self._values, self._meter)
            if not self._queue.put_read(job):
                job.finish()

    def erase(self, keys: Sequence[bytes], done: Callable[[bool], None]) -> None:
        """Remove the blocks. `done` receives True if the tier has none of them any more.

        No write of them may be in flight, as it could arrive afterwards.
        """

        def settle(erased: bool | Refusal) -> None:
            if isinstance(erased, Refusal):
                self._gate.on_refused(erased.words)
            self._ledger.end_erasure(done=erased is True)
            done(erased is True)

        self._ledger.withdrawn(keys)
        self._known.learn(keys, [False] * len(keys), whole=False)
        for key in keys:
            self._missed.take(key)
            self._unwritten.take(key)
        self._ledger.begin_erasure()
        job = EraseJob(keys, self._values, settle)
        if not (self._accepts_writes and self._queue.put_read(job)):
            job.finish()

    def promise(self, keys: Sequence[bytes], terms: PromiseTerms, done: Callable[[Promised], None]) -> None:
        """Keep the leading run of `keys` that the tier has, for the time of `terms` after each use.

        `done` receives the length of the run. A block that the tier lacks counts as missed, so that it is put again.
        """

        def settle(promised: Promised) -> None:
            run, rest = keys[: promised.num_blocks], keys[promised.num_blocks :]
            self._known.learn(run, [True] * len(run), whole=False)
            if promised.end == "absent":
                self._known.learn(rest[:1], [False], whole=False)
                absent = [key for key in rest if not self._ledger.is_pending(key)]
                self._missed.note([key for key in absent if not self._known.run([key])], None)
            done(promised)

        job = PromiseJob(keys, terms, settle)
        if not (self.available and self._queue.put_read(job)):
            job.finish()

    def take_lookup_seconds(self, key: bytes) -> float:
        """Take the duration of the last lookup of `key`; 0 if there was none since the previous call."""
        return self._lookups.take(key) or 0.0

    def miss_of(self, key: bytes) -> TierMiss | None:
        """Return why the last lookup or load did not deliver `key`; None if no reason is known."""
        return self._missing.get(key)

    def note_unanswered(self, keys: Sequence[bytes]) -> None:
        """Record that the tier gave no answer about keys that were requested."""
        if keys:
            absence = TierMissReason.NO_ANSWER if self._breaker.closed else TierMissReason.SKIPPED
            self._missing.note(keys, TierMiss(absence, "" if self._breaker.closed else self._breaker.describe()))

    def stats(self) -> LowerTierStats:
        """Return the current statistics without asking the tier."""
        usage = self._watcher.usage
        with self._lock:
            return LowerTierStats(
                tier=self.tier,
                state=self._breaker.describe(),
                used_bytes=usage.used_bytes,
                capacity_bytes=usage.capacity_bytes,
                evicted_blocks=usage.evicted,
                promised_bytes=usage.promised_bytes,
                broken_promises=usage.broken_promises,
                pending_writes=self._ledger.pending,
                write_lag_seconds=self._ledger.lag_seconds,
                stored_blocks=self._ledger.stored,
                written_bytes=self._written_bytes,
                failed_blocks=self._ledger.failed,
                shed_blocks=self._shed,
                loaded_blocks=self._loaded,
                rejects={reject.name.lower(): count for reject, count in self._rejected.items()},
                speed=self._meter.speed,
                retry_seconds=self._breaker.retry_seconds,
                refusal=self._gate.refusal,
                lookup_seconds=self._lookup_seconds.copy(),
                store_seconds=self._store_seconds.copy(),
            )

    def flush(self, timeout: float) -> bool:
        """Block until every announced block and every erasure is settled.

        Return False on timeout, or if a block did not reach the tier or could not be erased.
        """
        failed = self._ledger.failed, self._ledger.failed_erasures
        return self._ledger.wait_until_empty(timeout) and (self._ledger.failed, self._ledger.failed_erasures) == failed

    def close(self) -> None:
        """Fail all operations, in flight or queued, and end every thread. No block's memory is touched afterwards."""
        self._queue.close()
        threads: list[TierWatcher | Lane] = [self._watcher, *self._lanes]
        for each in threads:
            each.stop()
        ends = time.monotonic() + _PATIENCE_SECONDS
        for each in threads:
            each.join(max(0.0, ends - time.monotonic()))

    def _note_answer(self, keys: Sequence[bytes], outcomes: Sequence[Reject | bool]) -> None:
        """Record why keys are missing. This must be called before `_known` learns the outcomes."""
        for key, outcome in zip(keys, outcomes, strict=True):
            if outcome is True:
                self._missing.take(key)
            elif outcome is False:
                self._missing.note([key], self._absence_of(key))
            else:
                self._missing.note([key], TierMiss(TierMissReason.REJECTED, outcome.value))

    def _absence_of(self, key: bytes) -> TierMiss:
        """Return why the tier, which has answered, does not have `key`."""
        if self._known.run([key]) == 1:
            return TierMiss(TierMissReason.GONE)
        if (why := self._unwritten.get(key)) is not None:
            return TierMiss(TierMissReason.UNWRITTEN, why)
        return TierMiss(TierMissReason.UNKNOWN_KEY)

    def _count_put(self, job: PutJob) -> None:
        key = job.block.key
        if job.refusal is not None:
            self._gate.on_refused(job.refusal.words)
        if job.stored or job.refusal is not None:
            self._known.learn([key], [job.stored], whole=True)
        if job.stored:
            self._gate.on_stored()
            self._missing.take(key)
            self._unwritten.take(key)
        else:
            self._missed.note([key], None)
            self._unwritten.note([key], self._why_unwritten(job))
        with self._lock:
            self._shed += job.was_shed
            if job.stored and job.seconds:
                self._written_bytes += job.block.payload.nbytes
                self._store_seconds.observe(job.seconds)
        self._ledger.settle(key, stored=job.stored)

    def _why_unwritten(self, job: PutJob) -> str:
        if job.refusal is not None:
            return job.refusal.words
        if job.was_shed:
            return "too many blocks waited to be written"
        return self._gate.refusal or self._breaker.describe()

    def _learn_from_load(self, blocks: Sequence[Block], outcomes: Sequence[Outcome]) -> None:
        results = list(zip([block.key for block in blocks], outcomes, strict=True))
        answered = [(key, outcome) for key, outcome in results if outcome is not None]
        self._note_answer([key for key, _ in answered], [outcome for _, outcome in answered])
        self.note_unanswered([key for key, outcome in results if outcome is None])
        self._known.learn([key for key, _ in answered], [outcome is True for _, outcome in answered], whole=True)
        rejects = [outcome for outcome in outcomes if isinstance(outcome, Reject)]
        with self._lock:
            self._rejected.update(rejects)
        if rejects:
            logger.warning("rejected %d blocks from %s: %s", len(rejects), self.tier.name, rejects[0].value)
