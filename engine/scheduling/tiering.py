"""Where the scheduler meets the tiers: device blocks are pinned here for as long as bytes move in or out of them."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from cache_tiers.block_key import BlockKey
from cache_tiers.manager import LoadOutcome, TierManager
from cache_tiers.transfer import TransferJob, TransferResult
from engine.kv.block import KVCacheBlock
from engine.kv.block_manager import BlockManager
from engine.kv.stored_tails import StoredTail, StoredTails
from engine.outputs import KVReceipt, ReuseEnd
from engine.request import Request, RequestStatus, Restored
from engine.scheduling.foresight import Foresight
from engine.scheduling.late_copies import LateCopies
from engine.scheduling.lifts import LIFT_ID
from engine.scheduling.load_choice import FromRedis, RedisCost, choose
from engine.scheduling.output import SchedulerOutput
from engine.scheduling.prefill_cost import PrefillCost
from engine.scheduling.reuse_end import end_not_worth, end_of_absence, end_of_load, end_without_redis
from engine.tracing import NO_TRACE, Trace, Track

MOST_STORES = 16
MOST_STORES_AT_REST = 4
MOST_TAILS = 4096
MOST_HELD_SECONDS = 1.0
RESERVED_PART = 4
"""One block in so many should be empty, or in a tier below if it can be evicted."""


def stores_of_step(last_step_tokens: int, *, others_wait: bool) -> int:
    """How many blocks a step may copy down: whoever is in it, or comes meanwhile, waits for them.

    last_step_tokens: what the step before computed. Streams that began together fill their blocks together;
    spread over steps the copies are not felt. An eighth is eight times the rate at which blocks of 64 fill.
    """
    if last_step_tokens:
        return min(max(1, last_step_tokens // 8), MOST_STORES)
    return 1 if others_wait else MOST_STORES_AT_REST


@dataclass(slots=True)
class _Restoring:
    """num_before: blocks before those of the load. tail: its last block, if that is only partly filled. num_computed:
    tokens that the request had computed when it turned to the tiers. erased: nobody shall find what arrives. lost:
    what had arrived is no longer there."""

    request: Request
    num_before: int
    num_blocks: int
    tail: StoredTail | None = None
    keys: Sequence[BlockKey] = ()
    num_computed: int = 0
    aborted: bool = False
    erased: bool = False
    lost: bool = False

    def restored(self, outcome: LoadOutcome, block_size: int) -> int:
        """Tokens whose KV is there now; at least one of the request is left to be computed."""
        tokens = (self.num_before + outcome.num_blocks) * block_size
        if self.tail is not None and outcome.num_blocks == self.num_blocks:
            tokens -= block_size - self.tail.num_tokens
        return min(tokens, self.request.num_tokens - 1)


@dataclass(slots=True)
class _Asked:
    """A look-up that runs while its request computes. index, key: of the first block that was asked for. num_found:
    the answer, once it is there and worth a change."""

    request: Request
    handle: int
    index: int
    key: BlockKey
    asked: float
    num_found: int | None = None


class Tiering:
    """Restores prefixes into block tables and writes full blocks behind.

    A loading request's blocks belong to it until the outcome comes, also when it is aborted while they load: no copy
    ever lands in a block that another request was given. The outcome comes after the result of each copy, and so does
    the first step that reads the blocks.

    late: copies whose results come with a later step than their own.
    """

    def __init__(
        self,
        tiers: TierManager,
        blocks: BlockManager,
        prefill: PrefillCost,
        *,
        clock: Callable[[], float],
        trace: Trace = NO_TRACE,
    ) -> None:
        self.tiers = tiers
        self.prefill = prefill
        self._blocks = blocks
        self._clock = clock
        self._trace = trace
        self._restoring: dict[str, _Restoring] = {}
        self._asked: dict[str, _Asked] = {}
        self._tails = StoredTails(blocks.pool.owners, most=MOST_TAILS, least=max(1, blocks.block_size // 8))
        self.foresight = Foresight(tiers, blocks, self._tails, clock=clock)
        blocks.watch_tails(self._offer_tail)
        self._pinned: dict[BlockKey, KVCacheBlock] = {}
        self.late = LateCopies()
        self._held_since: float | None = None

    @property
    def num_loading(self) -> int:
        """Requests in LOADING, and aborted ones whose copies have not ended."""
        return len(self._restoring)

    @property
    def is_quiet(self) -> bool:
        """Whether no byte moves."""
        return not (self._restoring or self._pinned or self.foresight.is_lifting)

    def arrived(self, request: Request) -> None:
        """It waits for its turn: what Redis has of it may come as far as host memory meanwhile."""
        self.foresight.arrived(request)
        device = self._blocks.num_on_device(request)
        keys = request.block_keys[device : self._blocks.num_loadable(request)]
        in_cpu = self.tiers.num_in_cpu(keys)
        self.tiers.wanted(keys[:in_cpu])
        if in_cpu == len(keys) or self.tiers.redis_speed is None:
            return
        if wanted := self._choose(request, device + in_cpu, keys[in_cpu:]):
            self.tiers.warm(request.request_id, keys[in_cpu : in_cpu + wanted])

    def used(self, request: Request) -> None:
        """It ends, and leaves its full blocks behind."""
        if request.num_published_blocks:
            found = request.receipt.cached // self._blocks.block_size if request.receipt is not None else 0
            chain = request.block_keys[: request.num_published_blocks]
            self.tiers.used(chain, min(found, len(chain)))

    def begin(self, request: Request) -> bool:
        """Start to load what follows the request's device prefix; False if there is nothing to wait for."""
        began = self._begin(request)
        if not began:
            self.tiers.stop_warming(request.request_id)
        return began

    def _begin(self, request: Request) -> bool:
        request.reuse_end = None
        device = len(request.blocks)
        tail = self._find_tail(request, device)
        keys = request.block_keys[device : tail.index if tail is not None else self._blocks.num_loadable(request)]
        if tail is not None:
            keys.append(tail.key)
        if not keys or self._blocks.find_last(request) is not None:
            return False
        in_cpu = self.tiers.num_in_cpu(keys)
        self.tiers.wanted(keys[:in_cpu])
        wanted = in_cpu
        if in_cpu < len(keys) and keys[in_cpu] == self.tiers.missing(request.request_id):
            # It was asked when the request came.
            missing = self.tiers.store.why_missing(keys[in_cpu])
            request.reuse_end = end_of_absence(missing, self.tiers.places_of(keys[in_cpu]))
        elif in_cpu < len(keys):
            wanted += self._choose(request, device + in_cpu, keys[in_cpu:])
        if wanted < len(keys):
            tail, keys = None, keys[:wanted]
        if not keys:
            return False
        return self._load(_Restoring(request, device, len(keys), tail), keys)

    def _choose(self, request: Request, index: int, keys: Sequence[BlockKey]) -> int:
        """How many of `keys`, of its blocks from `index` on that are not in host memory, to wait for."""
        known = self.tiers.store.num_known_in_redis(keys)
        choice = self._choice(index, keys, known=known == len(keys))
        if choice is FromRedis.LOAD:
            return len(keys)
        if known and self._choice(index, keys[:known], known=True) is FromRedis.LOAD:
            return known
        if choice is FromRedis.ASK and request.request_id not in self._asked:
            handle = self.tiers.store.look_up(keys)
            self._asked[request.request_id] = _Asked(request, handle, index, keys[0], self._clock())
        elif choice is FromRedis.LEAVE:
            self.tiers.probe(keys[0])
        request.reuse_end = self._end_of_choice(choice, index, keys)
        return 0

    def _end_of_choice(self, choice: FromRedis, index: int, keys: Sequence[BlockKey]) -> ReuseEnd:
        gone_from = self.tiers.places_of(keys[0])
        match choice:
            case FromRedis.NOTHING:
                state = self.tiers.store.stats().redis_state
                return end_without_redis(state, redis=self.tiers.has_redis, gone_from=gone_from)
            case FromRedis.ASK:
                return ReuseEnd("not_worth_loading", "its computation began while Redis was still asked", gone_from)
            case _:
                cost = self._redis_cost(keys, known=True)
                load_seconds = cost.load_seconds if cost is not None else None
                return end_not_worth(load_seconds, self._compute_seconds(index, len(keys)), gone_from)

    def _choice(self, index: int, keys: Sequence[BlockKey], *, known: bool) -> FromRedis:
        return choose(self._redis_cost(keys, known=known), self._compute_seconds(index, len(keys)))

    def _redis_cost(self, keys: Sequence[BlockKey], *, known: bool) -> RedisCost | None:
        speed = self.tiers.redis_speed
        if speed is None:
            return None
        return RedisCost(self.tiers.cost.redis_seconds(speed, len(keys), known=known), speed.answer_seconds, known)

    def _compute_seconds(self, index: int, num_blocks: int) -> float | None:
        size = self._blocks.block_size
        return self.prefill.seconds(index * size, (index + num_blocks) * size)

    def _load(self, restoring: _Restoring, keys: Sequence[BlockKey]) -> bool:
        request, before, count = restoring.request, restoring.num_before, restoring.num_blocks
        if self._blocks.grow(request, (before + count) * self._blocks.block_size) is None:
            return False
        restoring.keys = keys
        self._restoring[request.request_id] = restoring
        self.tiers.begin_load(
            request.request_id,
            keys,
            [block.block_id for block in request.blocks[before:]],
            compute_seconds=self._compute_seconds(before, count),
        )
        return True

    # Requests that compute while Redis is asked

    def tokens_until_answer(self, request: Request) -> int | None:
        """How many tokens a request should compute before it may learn that it need not; None: it has not asked.

        0: it has learned so, and waits for the steps that it is part of.
        """
        asked = self._asked.get(request.request_id)
        speed = self.tiers.redis_speed
        if asked is None or speed is None or speed.answer_seconds is None:
            return None
        if asked.num_found is not None:
            return 0
        size, computed = self._blocks.block_size, request.num_computed_tokens
        seconds = self.prefill.seconds(computed, computed + size)
        left = asked.asked + speed.answer_seconds - self._clock()
        # An answer that is long overdue waits behind something: small steps would only be slow.
        return size * max(1, int(left / seconds)) if seconds and left > -speed.answer_seconds else None

    def take_answered(self) -> list[Request]:
        """Running requests that turn to the tiers now, because Redis has what is cheaper to load than to compute."""
        turned = []
        for request_id, asked in list(self._asked.items()):
            if asked.num_found is None:
                found = self.tiers.store.poll_look_up(asked.handle)
                if found is None:
                    continue
                asked.num_found = found
            request = asked.request
            if request.status is RequestStatus.LOADING:
                continue
            if request.status is RequestStatus.WAITING:
                if not request.tiers_asked:
                    self._warm_answered(asked)
                continue
            if request.status is not RequestStatus.RUNNING or not self._still_worth(asked):
                del self._asked[request_id]
                self._explain_absence(asked)
            elif request.steps_in_flight == 0:
                del self._asked[request_id]
                if self._turn(asked):
                    turned.append(request)
        return turned

    def _warm_answered(self, asked: _Asked) -> None:
        """It has not had its turn yet."""
        del self._asked[asked.request.request_id]
        if asked.num_found:
            keys = asked.request.block_keys[asked.index : asked.index + asked.num_found]
            self.tiers.warm(asked.request.request_id, keys)

    def _explain_absence(self, asked: _Asked) -> None:
        request = asked.request
        if asked.num_found == 0 and request.reuse is not None:
            missing = self.tiers.store.why_missing(asked.key)
            request.reuse = replace(request.reuse, end=end_of_absence(missing, self.tiers.places_of(asked.key)))

    def _still_worth(self, asked: _Asked) -> bool:
        first, keys = self._left(asked)
        return bool(keys) and self._choice(first, keys, known=True) is FromRedis.LOAD

    def _turn(self, asked: _Asked) -> bool:
        request, (first, keys) = asked.request, self._left(asked)
        return self._load(_Restoring(request, first, len(keys), num_computed=request.num_computed_tokens), keys)

    def _left(self, asked: _Asked) -> tuple[int, Sequence[BlockKey]]:
        """The first block that is not computed yet, and the keys of those from there on that Redis has. What lay before
        those that it was asked about may be gone by now: then nobody can tell."""
        assert asked.num_found is not None
        first = asked.request.num_computed_tokens // self._blocks.block_size
        if first < asked.index:
            return first, []
        return first, asked.request.block_keys[first : asked.index + asked.num_found]

    def _find_tail(self, request: Request, device: int) -> StoredTail | None:
        """The last of its blocks that is known to have gone down partly filled, unless the device still has it."""
        size = self._blocks.block_size
        for index in range(self._blocks.num_loadable(request), device - 1, -1):
            known = request.token_ids(index * size, min((index + 1) * size, request.num_tokens - 1))
            tail = self._tails.find(index, request.key_before(index), known)
            if tail is not None:
                here = self._blocks.pool.find_tail(request.key_before(index), known) if index == device else None
                return None if here is not None and here.num_tokens >= tail.num_tokens else tail
        return None

    def _offer_tail(self, block: KVCacheBlock) -> None:
        assert block.key is not None
        assert block.tail_of is not None
        if self._tails.add(block.tail_of, block.key, block.token_ids):
            self._offer(block)

    def forget_waiting(self, request: Request) -> None:
        """It ended before it had its turn."""
        self.tiers.stop_warming(request.request_id)

    def abort(self, request: Request) -> None:
        """Its blocks return to the pool once no copy can touch them any more."""
        self._restoring[request.request_id].aborted = True
        self.tiers.cancel_load(request.request_id)

    def lose_device(self) -> None:
        """End all loads with nothing, and fail late copies: the workers that made them are gone."""
        self.foresight.lose_device()
        self._give_up_on(self.late.take_all())
        for request_id, restoring in self._restoring.items():
            restoring.lost = True
            if not restoring.aborted:
                self.tiers.cancel_load(request_id)

    def erase(self, keys: Sequence[BlockKey]) -> None:
        """Nobody shall find these in the tiers below, nor on the device what is still on its way for an aborted
        request."""
        erased = set(keys)
        self._tails.erase(keys)
        self.foresight.erase(keys)
        for restoring in self._restoring.values():
            restoring.erased |= restoring.aborted and not erased.isdisjoint(restoring.request.block_keys)
        self.tiers.erase(keys)

    def poll(self) -> list[Request]:
        """Requests whose load ended, with what arrived published and in their block tables."""
        ended: list[Request] = []
        self.foresight.forget_lapsed()
        for outcome in self.tiers.poll_loads():
            if outcome.load_id == LIFT_ID:
                self.foresight.lifted(outcome)
                continue
            now, counts = time.perf_counter(), {"cpu": outcome.from_cpu, "redis": outcome.from_redis}
            self._trace.add(Track.RESTORES, outcome.load_id, now - outcome.seconds, now, **counts)
            restoring = self._restoring.pop(outcome.load_id)
            request = restoring.request
            if restoring.lost:
                self._give_up(restoring)
                if not restoring.aborted:
                    request.restored = None
                    ended.append(request)
                continue
            request.cpu_blocks += outcome.from_cpu
            request.redis_blocks += outcome.from_redis
            request.timeline.lookup += outcome.lookup_seconds
            if outcome.num_blocks < restoring.num_blocks:
                key = restoring.keys[outcome.num_blocks]
                missing = self.tiers.store.why_missing(key)
                request.reuse_end = end_of_load(outcome.end, missing, self.tiers.places_of(key))
            self._blocks.shrink(request, restoring.num_before + outcome.num_blocks)
            restored = restoring.restored(outcome, self._blocks.block_size)
            request.num_computed_tokens = request.num_confirmed_tokens = restored
            request.restored = self._restored(restoring, outcome, restored)
            if request.receipt is not None and restored > restoring.num_computed > 0:
                self._add_to_receipt(request, request.receipt, request.restored, restoring.num_computed, restored)
            if restoring.erased:
                request.num_confirmed_tokens = 0
            self._blocks.publish_full(request)
            if restoring.aborted:
                self._blocks.free(request)
            else:
                ended.append(request)
        return ended

    def _restored(self, restoring: _Restoring, outcome: LoadOutcome, end: int) -> Restored:
        """What of the tokens before `end` came with this load: its last block may be needed only partly."""
        size = self._blocks.block_size
        tokens = max(0, end - restoring.num_before * size)
        cpu = min(outcome.from_cpu * size, tokens)
        return Restored(cpu, tokens - cpu, outcome.seconds)

    def _give_up(self, restoring: _Restoring) -> None:
        request = restoring.request
        request.num_computed_tokens = request.num_confirmed_tokens = 0
        self._blocks.free(request)

    def _add_to_receipt(self, request: Request, receipt: KVReceipt, restored: Restored, before: int, end: int) -> None:
        """It had begun to compute, as far as `before`, when Redis answered that it has the rest, which has come now."""
        request.receipt = _with_restored(receipt, end - before, restored)
        more = self.prefill.seconds(before, end)
        if request.reuse_seconds is not None and more is not None:
            request.reuse_seconds += more
        if request.reuse is not None and request.reuse.end is not None:
            detail = f"it began while Redis was still asked; from token {before} on it was loaded after all"
            request.reuse = replace(request.reuse, end=replace(request.reuse.end, detail=detail))

    def num_kept(self, request: Request) -> int:
        """Full blocks of its beginning that went down or are on their way, so that they outlive it."""
        kept = request.num_published_blocks
        # Blocks go down in the order in which they fill: those that have not are the last.
        while kept and not self.tiers.has_taken(request.block_keys[kept - 1]):
            kept -= 1
        return kept

    def offer(self, request: Request, indices: Iterable[int]) -> None:
        """Blocks of its table that just became full."""
        for index in indices:
            self._tails.drop(request.key_before(index), request.blocks[index].token_ids)
            self._offer(request.blocks[index])

    def _offer(self, block: KVCacheBlock) -> None:
        assert block.key is not None
        if self.tiers.offer(block.key, block.block_id):
            self._blocks.pool.mark_unsaved(block)

    def would_lose(self, request: Request) -> bool:
        """Tell whether admitting `request` now evicts blocks of its own tenant that could be in Redis moments later.

        Then a short wait keeps them. No answer is True where Redis is away, or where loading is dearer than computing.
        """
        pool, missing = self._blocks.pool, self._blocks.num_missing(request)
        if not pool.num_losses(request.owner, missing) or not self.tiers.may_store_soon:
            return False
        found = 0 if request.blocks else self._blocks.num_on_device(request)
        if not pool.num_losses(request.owner, missing - found) or not request.block_keys:
            return False
        return self._choice(0, request.block_keys, known=True) is FromRedis.LOAD

    def take_loads(self, seconds: float) -> tuple[TransferJob, ...]:
        """Take the copies up for the next step: what should be copied within `seconds`, with those that are late."""
        return self.tiers.take_loads(seconds, self.late.num_loads)

    def take_stores(
        self, last_step_tokens: int, *, at_rest: bool, others_wait: bool, prompts: bool, urgent: bool = False
    ) -> tuple[TransferJob, ...]:
        """Take the copies down for the step that is being put together, before it allocates anything.

        at_rest: no request runs. prompts: some wait for their first token. Stores stay out of their way, and out of
        that of loads, for at most `MOST_HELD_SECONDS`: then so much is computed that they would never have their turn.
        urgent: a request waits until blocks have gone down. Then nothing holds stores up, and neither does it where
        the next blocks that somebody takes would be lost.
        """
        pool = self._blocks.pool
        needed = MOST_STORES if urgent else pool.num_to_save(pool.num_blocks // RESERVED_PART)
        if needed:
            return self._take_stores(min(needed, MOST_STORES, max(1, pool.num_free // 2)), at_rest=False)
        now = self._clock()
        if not (prompts or self.num_loading):
            self._held_since = None
        elif self._held_since is None:
            self._held_since = now
        if self._held_since is not None and now - self._held_since < MOST_HELD_SECONDS:
            return ()
        return self._take_stores(stores_of_step(last_step_tokens, others_wait=others_wait), at_rest=at_rest)

    def _take_stores(self, most: int, *, at_rest: bool) -> tuple[TransferJob, ...]:
        pool, stores = self._blocks.pool, []
        most = min(most, MOST_STORES - self.late.num_stores)
        for key, job in self.tiers.take_stores(most, at_rest=at_rest):
            pool.mark_saved(key)
            if job is not None:
                block = pool.acquire_published(key)
                assert block is not None
                assert block.block_id == job.block_id
                self._pinned[key] = block
                stores.append(job)
        return tuple(stores)

    def computed(self, step: SchedulerOutput, seconds: float) -> None:
        """A step was computed, in that time."""
        self.tiers.computed()
        self.prefill.note(step, seconds)

    def complete(self, step: SchedulerOutput, results: tuple[TransferResult, ...]) -> None:
        """Take the results of copies that came with a step, of which some may be results of earlier steps' copies."""
        self.late.ended(step, results)
        self._complete(results)

    def fail_step(self, step: SchedulerOutput) -> None:
        """Expect the results of a step that raised with later ones. If it had no tokens, all copies have ended, and no
        result comes any more."""
        self.late.failed(step)
        if not step.num_scheduled_tokens:
            self._give_up_on(self.late.take_all())

    def lose_step(self, step: SchedulerOutput) -> None:
        """Fail the copies of a step whose workers are gone."""
        self._give_up_on((*step.loads, *step.stores))

    def _give_up_on(self, jobs: Iterable[TransferJob]) -> None:
        self._complete(tuple(TransferResult(job.job_id, 0.0, "the step failed") for job in jobs))

    def _complete(self, results: tuple[TransferResult, ...]) -> None:
        stored = self.tiers.complete(results)
        self._blocks.pool.release([self._pinned.pop(key) for key in stored])

    def check(self) -> None:
        """Raise AssertionError on a pin or a load without an owner."""
        assert len(self._restoring) + self.foresight.is_lifting == self.tiers.num_loading, "a load has no owner"
        assert self._blocks.pool.num_unsaved == self.tiers.num_unstored, "a block waits to be stored in vain"
        self.tiers.check()


def _with_restored(receipt: KVReceipt, tokens: int, restored: Restored) -> KVReceipt:
    """Of a request that had begun to compute and need not compute `tokens` of the rest, which were restored. What was
    computed again after a preemption is in no receipt: so never more than were to be computed."""
    tokens = min(tokens, receipt.computed)
    cpu = min(restored.cpu, tokens)
    return replace(
        receipt,
        cpu=receipt.cpu + cpu,
        redis=receipt.redis + tokens - cpu,
        computed=receipt.computed - tokens,
        restore_ms=receipt.restore_ms + restored.seconds * 1e3,
    )
