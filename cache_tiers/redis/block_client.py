"""Asynchronous client for the blocks of one Redis, in whatever state that Redis is.

Every operation completes: with its result, or as a miss or a failure if Redis is unavailable, slow, full or wrong. The
result is passed to a callback exactly once: on a worker thread, or on the caller's own if nothing was attempted.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from cache_tiers.histogram import Histogram
from cache_tiers.lower.link_speed import LinkMeter, LinkSpeed
from cache_tiers.lower.sealed_value import BlockSeal, Reject
from cache_tiers.lower.tier import Block, LowerTierStats, TierMiss, TierMissReason
from cache_tiers.owners.block_key import Owner, owner_of
from cache_tiers.owners.owners import Owners
from cache_tiers.owners.recent_keys import RecentKeys
from cache_tiers.redis.address import RedisAddress
from cache_tiers.redis.block_format import BlockFormat
from cache_tiers.redis.breaker import CircuitBreaker
from cache_tiers.redis.job_queue import JobQueue
from cache_tiers.redis.jobs import EraseJob, FindJob, LoadJob, PutJob, RenewJob
from cache_tiers.redis.known_keys import KnownKeys
from cache_tiers.redis.load_line import Load, LoadLine
from cache_tiers.redis.resp import ErrorReply, Timeouts
from cache_tiers.redis.watcher import RedisWatcher
from cache_tiers.redis.worker import RedisWorker
from cache_tiers.redis.write_gate import WriteGate
from cache_tiers.redis.write_ledger import WriteLedger
from cache_tiers.tier import BLOCK_TTL_SECONDS, Tier

logger = logging.getLogger(__name__)

REDIS: Final = Tier("redis", "Redis")

RENEW_EVERY_SECONDS = 60.0
MAX_KNOWN = 1 << 16
MAX_RECENT = 1 << 12
_RENEW_BYTES = 128


@dataclass(frozen=True, slots=True)
class BlockClientOptions:
    """Limits and tuning of the client.

    max_write_bytes: maximum size of the payloads that wait to be written.
    num_values: number of Redis values over which a block is spread.
    ttl_seconds: time to live of an unused block.
    renew_every_seconds: minimum interval between renewals of a block that is used without being read from Redis.
    connections: at least 3: one loads, one answers lookups, the others write.
    """

    max_write_bytes: int
    num_values: int = 1
    ttl_seconds: int = BLOCK_TTL_SECONDS
    renew_every_seconds: float = RENEW_EVERY_SECONDS
    connections: int = 4
    timeouts: Timeouts = field(default_factory=Timeouts)


class RedisBlockClient:
    """Client for the blocks of one Redis. Thread-safe.

    The constructor makes one attempt to reach Redis, which takes about a second at worst, and succeeds without it.
    """

    tier = REDIS

    def __init__(
        self, address: RedisAddress, seal: BlockSeal, options: BlockClientOptions, owners: Owners | None = None
    ) -> None:
        owners = owners if owners is not None else Owners()
        self._layout = BlockFormat(seal, options.ttl_seconds, options.num_values)
        self._options = options
        self._ledger = WriteLedger()
        self._breaker = CircuitBreaker(str(address))
        self._gate = WriteGate(str(address))
        self._meter = LinkMeter()
        self._queue = JobQueue(options.max_write_bytes, options.connections - 2, owners)
        self._line = LoadLine()
        self._known = KnownKeys(MAX_KNOWN, owners)
        self._missed: RecentKeys[None] = RecentKeys(MAX_KNOWN, owners)
        self._renewing = 0
        self._lock = threading.Lock()
        self._loaded = 0
        self._shed = 0
        self._rejected: Counter[Reject] = Counter()
        self._lookup_seconds = Histogram.of_seconds()
        self._store_seconds = Histogram.of_seconds()
        self._lookups: RecentKeys[float] = RecentKeys(MAX_RECENT, owners)
        self._missing: RecentKeys[TierMiss] = RecentKeys(MAX_RECENT, owners)
        self._watcher = RedisWatcher(address, options.timeouts, self._breaker, self._gate, self._meter)
        self._workers = [
            RedisWorker(f"redis-blocks-{index}", address, options.timeouts, self._queue, self._breaker, self._gate)
            for index in range(options.connections)
        ]

    @property
    def available(self) -> bool:
        """Whether operations are attempted at present."""
        return self._breaker.closed

    @property
    def speed(self) -> LinkSpeed:
        """Speed of the link to Redis, estimated from recent operations."""
        return self._meter.speed

    def announce(self, keys: Sequence[bytes]) -> None:
        """Note blocks that LMCache will pass to `put` at any moment. Their lag counts from now."""
        self._ledger.commit(keys)

    def awaits_put(self, key: bytes) -> bool:
        """Return True if a block has been announced and `put` has not been called with it yet."""
        return self._ledger.awaits_handover(key)

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
            job = PutJob(block, self._layout, settle, is_there=self._known.is_whole)
            if not self._accepts_writes:
                job.finish()
            else:
                self._queue_write(job, block.payload.nbytes, owner_of(block.key))

    @property
    def _accepts_writes(self) -> bool:
        return self._breaker.closed and self._gate.is_open

    def _queue_write(self, job: PutJob | RenewJob, nbytes: int, owner: Owner) -> None:
        for shed in self._queue.put_write(job, nbytes, owner):
            if isinstance(shed, PutJob):
                with self._lock:
                    self._shed += 1
            shed.finish()

    @property
    def num_missed(self) -> int:
        """Blocks that Redis lost, or that did not reach it: it was unavailable, refused them or had a full queue."""
        return len(self._missed)

    @property
    def may_miss_more(self) -> bool:
        """Whether a pending reply could add to the missed blocks."""
        return self._renewing > 0 or self._ledger.pending > 0

    def take_missed(self, most: int) -> list[bytes]:
        """Take at most `most` missed blocks to put again, oldest first.

        The list is empty while Redis is unavailable or refuses writes, or many writes are pending.
        """
        if not self._accepts_writes or self._ledger.pending >= most:
            return []
        return self._missed.take_oldest(most)

    def renew(self, chain: Sequence[bytes]) -> None:
        """Renew blocks that were used in a tier above, so that Redis evicts them last, the first one last of all."""
        due = self._known.take_due(chain, self._options.renew_every_seconds)[::-1]

        def settle(there: list[bool] | ErrorReply | None) -> None:
            if isinstance(there, ErrorReply):
                self._gate.on_refused(f"EXPIRE: {there.text}")
            elif there is not None:
                self._known.learn(due, there, whole=False)
                self._missed.note([key for key, is_there in zip(due, there, strict=True) if not is_there], None)
            with self._lock:
                self._renewing -= 1

        if due and self._accepts_writes:
            with self._lock:
                self._renewing += 1
            job = RenewJob(due, self._layout, settle)
            self._queue_write(job, _RENEW_BYTES * len(due), owner_of(due[-1]))

    def num_known(self, keys: Sequence[bytes]) -> int:
        """Return the length of the leading run of `keys` that Redis should hold, without asking Redis."""
        return self._known.run(keys)

    def find(self, keys: Sequence[bytes], done: Callable[[list[bool]], None]) -> None:
        """Look up which keys Redis holds. If all are known, `done` is called at once, without asking Redis."""

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
        job = FindJob(keys, self._meter, settle)
        if not (self._breaker.closed and self._queue.put_read(job)):
            job.finish()

    def load(self, blocks: Sequence[Block], done: Callable[[list[bool]], None]) -> None:
        """Fill the blocks' memory. `done` receives True for each block that is complete and verified.

        The memory of the other blocks then holds garbage.
        """

        def settle(outcomes: list[Reject | bool]) -> None:
            self._count_load(outcomes)
            answered = [block.key for block in blocks[: len(outcomes)]]
            self._note_answer(answered, outcomes)
            self.note_unanswered([block.key for block in blocks[len(outcomes) :]])
            self._known.learn(answered, [outcome is True for outcome in outcomes], whole=True)
            done([outcome is True for outcome in outcomes] + [False] * (len(blocks) - len(outcomes)))

        load = Load(blocks, settle)
        if load.is_over or not self._breaker.closed:
            settle([])
        elif self._line.add(load):
            job = LoadJob(self._line, self._layout, self._meter)
            if not self._queue.put_read(job):
                job.finish()

    def erase(self, keys: Sequence[bytes], done: Callable[[bool], None]) -> None:
        """Remove the blocks. `done` receives True if Redis has none of them any more.

        No write of them may be in flight, as it could arrive afterwards.
        """

        def settle(erased: bool | ErrorReply) -> None:
            if isinstance(erased, ErrorReply):
                self._gate.on_refused(f"UNLINK: {erased.text}")
            self._ledger.end_erasure(done=erased is True)
            done(erased is True)

        self._ledger.withdrawn(keys)
        self._known.learn(keys, [False] * len(keys), whole=False)
        for key in keys:
            self._missed.take(key)
        self._ledger.begin_erasure()
        job = EraseJob(keys, self._layout, settle)
        if not (self._accepts_writes and self._queue.put_read(job)):
            job.finish()

    def take_lookup_seconds(self, key: bytes) -> float:
        """Take the duration of the last lookup of `key`; 0 if there was none since the previous call."""
        return self._lookups.take(key) or 0.0

    def miss_of(self, key: bytes) -> TierMiss | None:
        """Return why the last lookup or load did not deliver `key`; None if no reason is known."""
        return self._missing.get(key)

    def note_unanswered(self, keys: Sequence[bytes]) -> None:
        """Record that Redis gave no answer about keys that were requested."""
        if keys:
            absence = TierMissReason.NO_ANSWER if self._breaker.closed else TierMissReason.SKIPPED
            self._missing.note(keys, TierMiss(absence, "" if self._breaker.closed else self._breaker.describe()))

    def stats(self) -> LowerTierStats:
        """Return the current statistics without asking the server."""
        memory = self._watcher.memory
        with self._lock:
            return LowerTierStats(
                tier=self.tier,
                state=self._breaker.describe(),
                used_bytes=memory.used,
                capacity_bytes=memory.limit,
                evicted_blocks=memory.evicted_keys,
                pending_writes=self._ledger.pending,
                write_lag_seconds=self._ledger.lag_seconds,
                stored_blocks=self._ledger.stored,
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

        Return False on timeout, or if a block did not reach Redis or could not be erased.
        """
        failed = self._ledger.failed, self._ledger.failed_erasures
        return self._ledger.wait_until_empty(timeout) and (self._ledger.failed, self._ledger.failed_erasures) == failed

    def close(self) -> None:
        """Fail all operations, in flight or queued, and end every thread. No block's memory is touched afterwards."""
        self._queue.close()
        self._watcher.stop()
        for worker in self._workers:
            worker.stop()

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
        """Return why Redis, which has answered, does not have `key`."""
        if self._known.run([key]) == 1:
            return TierMiss(TierMissReason.GONE)
        if self._gate.refusal and self._missed.has(key):
            return TierMiss(TierMissReason.UNWRITTEN, self._gate.refusal)
        return TierMiss(TierMissReason.UNKNOWN_KEY)

    def _count_put(self, job: PutJob) -> None:
        key = job.block.key
        if job.error is not None:
            self._gate.on_refused(f"SET: {job.error.text}")
        if job.stored or job.error is not None:
            self._known.learn([key], [job.stored], whole=True)
        if job.stored:
            self._gate.on_stored()
            self._missing.take(key)
        else:
            self._missed.note([key], None)
        with self._lock:
            if job.stored and job.seconds:
                self._store_seconds.observe(job.seconds)
        self._ledger.settle(key, stored=job.stored)

    def _count_load(self, outcomes: Sequence[Reject | bool]) -> None:
        rejects = [outcome for outcome in outcomes if isinstance(outcome, Reject)]
        with self._lock:
            self._loaded += sum(outcome is True for outcome in outcomes)
            self._rejected.update(rejects)
        if rejects:
            logger.warning("rejected %d blocks from Redis: %s", len(rejects), rejects[0].value)
