"""A worker and a tier store that hold token ids instead of bytes, so that a mix-up of blocks is detected at once."""

import hashlib
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from cache_tiers.cpu.eviction import LeastRecentlyUsed
from cache_tiers.cpu.eviction_index import EvictionIndex
from cache_tiers.leak_check import LeakCheck
from cache_tiers.lower.link_speed import LinkSpeed
from cache_tiers.lower.misses import TierMiss, TierMissReason
from cache_tiers.lower.promise import Promised, PromiseEnd, PromiseTerms
from cache_tiers.lower.tier import LowerTierStats
from cache_tiers.owners.block_key import BlockKey, Owner, owner_of
from cache_tiers.owners.owners import Owners
from cache_tiers.owners.shares import MemoryShares
from cache_tiers.redis.backend import REDIS
from cache_tiers.store import CPUTierStats, HostSlot, PrefetchResult, StoreStats
from cache_tiers.tier import CPU, TierId
from cache_tiers.transfer import Direction, TransferJob, TransferResult
from engine.api.sampling_params import SamplingParams
from engine.offload.prefill_cost import PrefillCost
from engine.request.request import Request
from engine.request.scheduler_output import ModelRunnerOutput, SchedulerOutput
from engine.speculation.speculation import verify

Slots = list[int | None]


def next_token(token_ids: Sequence[int], vocab: int, mask: bytes | None = None, choice: int = 0) -> int:
    """Compute the toy model's next token, a function of the whole context and of the answer's number.

    mask: allowed tokens as in a SchedulerOutput; None allows all.
    choice: the answer's number among the answers to its prompt.
    """
    digest = hashlib.sha256(repr((choice, *token_ids)).encode()).digest()
    words = int.from_bytes(mask, "little") if mask is not None else -1
    allowed = [token for token in range(vocab) if words >> token & 1]
    return allowed[int.from_bytes(digest[:4], "little") % len(allowed)]


class ToyMask:
    """TokenMask that alternates between even and odd ids, starting with an even one."""

    def __init__(self) -> None:
        self._wants_odd = False

    def accept(self, token_id: int) -> None:
        assert token_id % 2 == self._wants_odd, "the mask received a disallowed token, or missed one"
        self._wants_odd = not self._wants_odd

    def begin(self) -> None:
        pass

    def words(self) -> bytes:
        return (b"\xaa" if self._wants_odd else b"\x55") * 8

    def verdict(self, text: str) -> None:
        return None

    def forced(self) -> tuple[int, ...]:
        return ()

    is_asleep = False
    is_ready = True
    failure: str | None = None


class SleepingToyMask(ToyMask):
    """TokenMask that sleeps until a multiple of three: 0 forces 4 and 5, another one demands an even and an odd id."""

    def __init__(self) -> None:
        super().__init__()
        self._due: list[bytes] = []
        self._forced: list[int] = []

    @property
    def is_asleep(self) -> bool:  # type: ignore[override]
        return not self._due

    def accept(self, token_id: int) -> None:
        if self._due:
            assert self._due.pop(0)[0] >> token_id & 1, "the mask received a disallowed token, or missed one"
            self._forced = self._forced[1:]
        elif token_id % 3 == 0:
            self._forced = [] if token_id else [4, 5]
            self._due = [b"\x55", b"\xaa"] if token_id else [b"\x10", b"\x20"]

    def words(self) -> bytes:
        assert self._due, "the mask is asleep"
        return self._due[0]

    def forced(self) -> tuple[int, ...]:
        return tuple(self._forced)


def expected_output(
    prompt: Sequence[int], sampling: SamplingParams, vocab: int, mask: ToyMask | None = None
) -> list[int]:
    """Compute the toy model's answer without a cache, batching or preemption.

    mask: a fresh mask, which is advanced; None allows all tokens.
    """
    tokens, produced = list(prompt), list[int]()
    while sampling.max_tokens is None or len(produced) < sampling.max_tokens:
        words = mask.words() if mask is not None and not mask.is_asleep else None
        produced.append(next_token(tokens, vocab, words, sampling.choice))
        if mask is not None:
            mask.accept(produced[-1])
        tokens.append(produced[-1])
        if produced[-1] in sampling.ending_ids and len(produced) > sampling.min_tokens:
            break
    return produced


@dataclass
class _Known:
    token_ids: list[int]
    blocks: list[int]
    choice: int


class ToyWorker:
    """Worker that follows every SchedulerOutput literally, and raises if a request attends to KV that is not its own.

    A late copy moves its bytes when it ends. Until then the target of a load holds nothing.

    late: chooses the copies that end with a step that has tokens; None ends all of them.
    pending: copies in flight.
    owed: results that no output has reported.
    refused: ids of the requests of each step that was refused, until its failure is known, by the step's number. The
        steps behind it may attend to anything: their results for these and for misled requests are wrong.
    """

    def __init__(self, block_size: int, vocab: int, host: dict[int, Slots], late: random.Random | None = None) -> None:
        self.late = late
        self.pending: list[TransferJob] = []
        self.owed: list[TransferResult] = []
        self.refused: dict[int, frozenset[str]] = {}
        self._told: tuple[SchedulerOutput, list[TransferResult]] | None = None
        self.block_size = block_size
        self.vocab = vocab
        self.device: dict[int, Slots] = {}
        self.host = host
        self.requests: dict[str, _Known] = {}

    def execute(self, output: SchedulerOutput) -> ModelRunnerOutput:
        computed = self._take_in(output)
        # Copies may run in any order, because none reads a block that another one writes.
        self.device |= {copy.target_id: list(self.device[copy.source_id]) for copy in output.copies}
        for job in output.loads:
            self.device[job.block_id] = [None] * self.block_size
        self._copy(output.loads, output)
        sampled: dict[str, tuple[int, ...]] = {}
        refused = frozenset[str]().union(*self.refused.values())
        for number in range(output.passes):
            for request_id, count in output.num_scheduled_tokens.items():
                if request_id in refused:
                    continue
                mask, draft = output.masks.get(request_id), output.drafts.get(request_id, ())
                tokens = self._forward(self.requests[request_id], computed[request_id] + number, count, mask, draft)
                if tokens:
                    sampled[request_id] = (*sampled.get(request_id, ()), *tokens)
        self._copy(output.stores, output)
        results, self.owed = self.owed, []
        self._told = output, results
        return ModelRunnerOutput(step_id=output.step_id, sampled_token_ids=sampled, transfers=tuple(results))

    def refuse(self, output: SchedulerOutput) -> None:
        """Know the requests of a step, then raise before anything is moved or computed."""
        self._take_in(output)
        self.refused[output.step_id] = frozenset(output.num_scheduled_tokens)
        self._owe_results(output)

    def _take_in(self, output: SchedulerOutput) -> dict[str, int]:
        """Drop and add requests, and return the number of computed tokens of those in the step."""
        for request_id in output.dropped_request_ids:
            self.requests.pop(request_id, None)
        computed: dict[str, int] = {}
        for new in output.new_requests:
            assert new.request_id not in self.requests
            self.requests[new.request_id] = _Known(list(new.token_ids), list(new.block_ids), new.sampling.choice)
            computed[new.request_id] = new.num_computed_tokens
        for cached in output.cached_requests:
            self.requests[cached.request_id].blocks += cached.new_block_ids
            self.requests[cached.request_id].token_ids += cached.new_token_ids
            computed[cached.request_id] = cached.num_computed_tokens
        return computed

    def fail(self, output: SchedulerOutput) -> None:
        """Owe the results of a step that raised, whether or not it was executed.

        A step without tokens ends all copies and owes nothing. Requests leave the batch before anything can raise.
        """
        for request_id in output.dropped_request_ids:
            self.requests.pop(request_id, None)
        self._owe_results(output)

    def _owe_results(self, output: SchedulerOutput) -> None:
        if self._told is not None and self._told[0] is output:
            self.owed += self._told[1]
        known = {job.job_id for job in self.pending} | {result.job_id for result in self.owed}
        failed = [job for job in (*output.loads, *output.stores) if job.job_id not in known]
        self.owed += [TransferResult(job.job_id, 0.0, "the step failed") for job in failed]
        if not output.num_scheduled_tokens:
            self._copy((), output)
            self.owed.clear()

    def _copy(self, jobs: Sequence[TransferJob], output: SchedulerOutput) -> None:
        """Start `jobs` and end some of the copies in flight. A step without tokens ends all of them."""
        self.pending += jobs
        for job in list(self.pending):
            if self.late is None or not output.num_scheduled_tokens or self.late.random() < 0.3:
                self.pending.remove(job)
                self._move(job)
                self.owed.append(TransferResult(job.job_id, 0.0))

    def _move(self, job: TransferJob) -> None:
        if job.direction is Direction.LOAD:
            self.device[job.block_id] = list(self.host[job.host_offset])
        else:
            self.host[job.host_offset] = list(self.device[job.block_id])

    def _forward(
        self, request: _Known, start: int, count: int, mask: bytes | None, draft: Sequence[int]
    ) -> Sequence[int]:
        size = self.block_size
        known, end = len(request.token_ids), start + count
        assert end <= known + len(draft), "scheduled beyond the known tokens"
        assert not draft or end == known + len(draft), "the draft does not follow the known tokens"
        text = [*request.token_ids, *draft]
        for position in range(start, end):
            block = self.device.setdefault(request.blocks[position // size], [None] * size)
            block[position % size] = text[position]
        seen = [self.device.get(request.blocks[p // size], [None] * size)[p % size] for p in range(end)]
        misled = seen != text[:end]
        assert self.refused or not misled, "a request attended to the KV of another one"
        if end < known:
            return ()
        choice = request.choice if not misled else -1
        stand = verify(draft, [next_token(text[:to], self.vocab, mask, choice) for to in range(known, end + 1)])
        request.token_ids += stand
        return stand


@dataclass
class HalfRight:
    """Proposer that predicts the toy model and is wrong at regular intervals.

    period: one token in `period` is wrong.
    is_silent: propose nothing, with a chance of 0.
    """

    vocab: int
    period: int = 3
    is_silent: bool = False

    def propose(self, request: Request, behind: int, most: int) -> Sequence[int]:
        text = list(request.token_ids(0, request.num_tokens))
        for _ in range(behind + most):
            wrong = not len(text) % self.period
            text.append((next_token(text, self.vocab, None, request.sampling.choice) + wrong) % self.vocab)
        return text[request.num_tokens + behind :] if not self.is_silent else ()

    def chance(self, request: Request) -> float:
        return 0.9 if not self.is_silent else 0.0


class BelievedCost(PrefillCost):
    """PrefillCost set by the test, because the real one learns nothing from steps without duration.

    token_seconds: seconds to compute a token; None while unknown.
    """

    token_seconds: float | None = None

    def seconds(self, start: int, stop: int) -> float | None:
        return None if self.token_seconds is None else self.token_seconds * (stop - start)


@dataclass
class _Pending:
    keys: list[BlockKey]
    redis: bool
    ticks: int


@dataclass
class ToyStore:
    """KVTierStore over dictionaries.

    capacity: blocks that fit in host memory.
    latency: polls until a prefetch or a lookup that needs Redis has a result.
    speed: claimed speed of the link to Redis.
    known: keys that the store believes to be in Redis.
    has_redis: whether there is a Redis, up or not.
    refuses: find no free slot in host memory.
    answers: results of erasures that were not polled yet.
    uses: arguments of each call of `touch`.
    promised: keys that are promised, each of which takes one of the reserved bytes.
    is_silent: give no answer to promises.
    """

    capacity: int
    latency: int = 0
    max_window: int = 8
    speed: LinkSpeed = field(default_factory=LinkSpeed)
    known: set[BlockKey] = field(default_factory=set)
    look_ups: dict[int, _Pending] = field(default_factory=dict)
    redis_up: bool = True
    has_redis: bool = True
    refuses: bool = False
    pending_writes: int = 0
    host: dict[int, Slots] = field(default_factory=dict)
    ready: dict[BlockKey, int] = field(default_factory=dict)
    reserved: dict[BlockKey, int] = field(default_factory=dict)
    locks: dict[BlockKey, int] = field(default_factory=dict)
    redis: dict[BlockKey, Slots] = field(default_factory=dict)
    deferred: set[BlockKey] = field(default_factory=set)
    pending: dict[int, _Pending] = field(default_factory=dict)
    handles: int = 0
    answers: list[tuple[Sequence[BlockKey], bool]] = field(default_factory=list)
    uses: list[tuple[tuple[BlockKey, ...], int, range]] = field(default_factory=list)
    promised: set[BlockKey] = field(default_factory=set)
    is_silent: bool = False
    promises: dict[int, Promised] = field(default_factory=dict)
    eviction_index: EvictionIndex = field(
        default_factory=lambda: EvictionIndex(LeastRecentlyUsed, MemoryShares(Owners(), clock=lambda: 0.0))
    )

    @property
    def pool(self) -> memoryview:
        return memoryview(bytearray())

    def _free_offset(self, owner: Owner) -> int | None:
        if self.refuses:
            return None
        used = set(self.ready.values()) | set(self.reserved.values())
        for offset in range(self.capacity):
            if offset not in used:
                return offset
        victims = self.eviction_index.pick(1, lambda key: not self.locks.get(key), owner)
        return self.ready.pop(victims[0]) if victims else None

    def _put(self, key: BlockKey, offset: int) -> None:
        self.ready[key] = offset
        self.eviction_index.insert([key])

    def reserve(self, keys: Sequence[BlockKey]) -> list[HostSlot]:
        slots, refused = [], set[Owner]()
        for key in keys:
            if key in self.ready or key in self.reserved or owner_of(key) in refused:
                continue
            offset = self._free_offset(owner_of(key))
            if offset is None:
                refused.add(owner_of(key))
                continue
            self.reserved[key] = offset
            slots.append(HostSlot(key, offset))
        return slots

    def contains(self, key: BlockKey) -> bool:
        return key in self.ready

    def commit(self, keys: Sequence[BlockKey], *, deferred: bool = False) -> None:
        for key in keys:
            self._put(key, self.reserved.pop(key))
            self.deferred.add(key)
        if not deferred:
            self.admit(keys)

    @property
    def num_deferred(self) -> int:
        return len(self.deferred & self.ready.keys())

    def admit(self, keys: Sequence[BlockKey]) -> None:
        for key in self.deferred.intersection(keys):
            self.deferred.remove(key)
            if self.has_redis and self.redis_up and key in self.ready:
                self.redis[key] = list(self.host[self.ready[key]])

    def write_deferred(self) -> None:
        self.admit(list(self.deferred))

    def discard(self, keys: Sequence[BlockKey]) -> None:
        for key in keys:
            del self.reserved[key]

    def link_speed(self, keys: Sequence[BlockKey] = ()) -> LinkSpeed | None:
        return self.speed if self.has_redis and self.redis_up else None

    def place_below(self, key: BlockKey) -> TierId | None:
        return REDIS.id if key in self.known else None

    def source_of(self, key: BlockKey) -> TierId:
        return REDIS.id

    def num_known_below(self, keys: Sequence[BlockKey]) -> int:
        return next((index for index, key in enumerate(keys) if key not in self.known), len(keys))

    def look_up(self, keys: Sequence[BlockKey]) -> int:
        self.handles += 1
        self.look_ups[self.handles] = _Pending(list(keys), True, self.latency)
        return self.handles

    def poll_look_up(self, handle: int) -> int | None:
        pending = self.look_ups[handle]
        if pending.ticks > 0:
            pending.ticks -= 1
            return None
        del self.look_ups[handle]
        there = self.redis if self.redis_up else {}
        found = next((i for i, key in enumerate(pending.keys) if key not in there), len(pending.keys))
        self.known.update(key for key in pending.keys if key in there)
        return found

    def prefetch(self, keys: Sequence[BlockKey], *, lower: bool) -> int:
        self.handles += 1
        in_cpu = all(key in self.ready for key in keys)
        self.pending[self.handles] = _Pending(list(keys), lower and self.has_redis, 0 if in_cpu else self.latency)
        return self.handles

    def poll(self, handle: int) -> PrefetchResult | None:
        pending = self.pending[handle]
        if pending.ticks > 0:
            pending.ticks -= 1
            return None
        del self.pending[handle]
        slots, sources = list[HostSlot](), list[TierId]()
        for key in pending.keys:
            was_ready = key in self.ready
            if not was_ready and not (pending.redis and self.redis_up and key in self.redis and self._fetch(key)):
                break
            self.locks[key] = self.locks.get(key, 0) + 1
            slots.append(HostSlot(key, self.ready[key]))
            sources.append(CPU.id if was_ready else REDIS.id)
        return PrefetchResult(tuple(slots), tuple(sources))

    def _fetch(self, key: BlockKey) -> bool:
        if key in self.reserved or (offset := self._free_offset(owner_of(key))) is None:
            return False
        self.host[offset] = list(self.redis[key])
        self._put(key, offset)
        return True

    def miss_of(self, key: BlockKey) -> TierMiss:
        if not self.has_redis:
            return TierMiss(TierMissReason.OFF)
        return TierMiss(TierMissReason.UNKNOWN_KEY, tier=REDIS.name, gone_from=(REDIS.id,))

    def release(self, keys: Sequence[BlockKey]) -> None:
        for key in keys:
            assert self.locks[key] > 0, "a key was released more often than locked"
            self.locks[key] -= 1

    @property
    def keeps_in_cpu(self) -> bool:
        return True

    def promise(self, keys: Sequence[BlockKey], terms: PromiseTerms) -> int:
        self.handles += 1
        there = self.redis if self.redis_up else {}
        found = next((index for index, key in enumerate(keys) if key not in there), len(keys))
        room = terms.reserved_bytes - len(self.promised.difference(keys))
        self.promised.update(keys[: min(found, room)])
        end: PromiseEnd | None = "no_room" if room < found else "absent" if found < len(keys) else None
        self.promises[self.handles] = Promised(min(found, room), end)
        return self.handles

    def poll_promise(self, handle: int) -> Promised | None:
        return self.promises.pop(handle) if not self.is_silent else None

    def touch(self, chain: Sequence[BlockKey], num_found: int, marked: range) -> None:
        assert 0 <= num_found <= len(chain)
        self.uses.append((tuple(chain), num_found, marked))

    def protect(self, chain: Sequence[BlockKey]) -> None:
        pass

    def write_missed(self, *, begin: bool) -> bool:
        return False

    def clear_cpu(self) -> bool:
        self.eviction_index.remove([key for key in self.ready if not self.locks.get(key)])
        self.ready = {key: offset for key, offset in self.ready.items() if self.locks.get(key)}
        return not self.ready and not self.reserved

    def erase(self, keys: Sequence[BlockKey]) -> list[BlockKey]:
        busy = [key for key in keys if key in self.reserved or self.locks.get(key)]
        for key in {*keys}.difference(busy):
            self.ready.pop(key, None)
            self.eviction_index.remove([key])
            if self.redis_up:
                self.redis.pop(key, None)
        self.answers.append(([key for key in keys if key not in busy], self.redis_up or not self.has_redis))
        return busy

    def poll_erased(self) -> list[tuple[Sequence[BlockKey], bool]]:
        answers, self.answers = self.answers, []
        return answers

    def abandon(self) -> list[int]:
        self.reserved.clear()
        self.locks.clear()
        return list(self.pending)

    def stats(self) -> StoreStats:
        redis = LowerTierStats(tier=REDIS, state="ok" if self.has_redis else "off", pending_writes=self.pending_writes)
        return StoreStats(CPUTierStats(used_bytes=len(self.ready), capacity_bytes=self.capacity), {REDIS.id: redis})

    def leak_check(self) -> LeakCheck:
        yield 0.0
        assert not any(self.locks.values()), "a read lock has no owner"
        assert not self.reserved, "a reserved slot has no owner"
        assert self.eviction_index.held == Counter(map(owner_of, self.ready)), (
            "an owner is charged for blocks that are not stored"
        )

    def flush(self, timeout: float) -> bool:
        return True

    def close(self) -> None:
        pass
