"""Connection between the scheduler and the cache tiers. Device blocks are pinned here while bytes move in or out."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from cache_tiers.leak_check import LeakCheck
from cache_tiers.lower.promise import Promised, PromiseTerms
from cache_tiers.moves.manager import TierManager
from cache_tiers.owners.block_key import BlockKey, block_key
from cache_tiers.transfer import TransferJob, TransferResult
from engine.api.outputs import KVReceipt, MissReason
from engine.api.role import Role
from engine.block_tables.block_manager import BlockManager
from engine.kv.block import KVCacheBlock
from engine.offload.idle_promotion import PROMOTION_ID
from engine.offload.late_copies import LateCopies
from engine.offload.load_choice import LoadChoice
from engine.offload.load_policy import LoadPolicy
from engine.offload.miss_reason import reason_of_load, reason_of_miss
from engine.offload.pending_lookups import FoundBlocks, PendingLookups
from engine.offload.prefetch_hints import PrefetchHints
from engine.offload.prefill_cost import PrefillCost
from engine.offload.restoring import Restoring, with_restored
from engine.offload.store_pace import MAX_STORES, stores_of_step
from engine.offload.stored_partials import StoredPartial, StoredPartials
from engine.request.request import Request, Restored
from engine.request.scheduler_output import SchedulerOutput
from engine.tracing import NO_TRACE, Trace, Track

MAX_PARTIALS = 4096
"""Partly filled blocks in lower tiers that are remembered."""
MAX_HELD_SECONDS = 1.0
"""Longest time for which stores are held back in favour of prompts and loads."""
RESERVED_PART = 4
"""One block in `RESERVED_PART` should be available without loss: empty, or evictable with a copy in a tier below."""


class OffloadConnector:
    """Mover of KV blocks: restores prefixes into block tables, and stores full blocks in the tiers below.

    A loading request keeps its blocks until the outcome of the load, even if it is aborted, so no copy ever writes to a
    block that was given to another request. The outcome, and the first step that reads the blocks, come after the
    result of each copy.

    role: as in `EngineConfig`.
    late: copies whose results come with a later step than their own.
    """

    def __init__(
        self,
        tiers: TierManager,
        blocks: BlockManager,
        prefill: PrefillCost,
        *,
        role: Role = "both",
        clock: Callable[[], float],
        trace: Trace = NO_TRACE,
    ) -> None:
        self.tiers = tiers
        self.prefill = prefill
        self._role = role
        self._blocks = blocks
        self._clock = clock
        self._trace = trace
        self._restoring: dict[str, Restoring] = {}
        only_loads = role == "decode"
        self._policy = LoadPolicy(tiers, prefill, block_size=blocks.block_size, only_loads=only_loads)
        self._lookups = PendingLookups(tiers, self._policy, prefill, block_size=blocks.block_size, clock=clock)
        # An answer that is handed over needs the last block, however few tokens are in it.
        least = max(1, blocks.block_size // 8) if role == "both" else 1
        self._partials = StoredPartials(blocks.pool.owners, most=MAX_PARTIALS, least=least)
        self.hints = PrefetchHints(tiers, blocks, self._partials, clock=clock)
        blocks.watch_partials(self._offer_partial)
        self._pinned: dict[BlockKey, KVCacheBlock] = {}
        self.late = LateCopies()
        self._held_since: float | None = None

    @property
    def num_loading(self) -> int:
        """Number of requests in LOADING, and of aborted ones whose copies have not ended."""
        return len(self._restoring)

    @property
    def is_quiet(self) -> bool:
        """Whether no load, store or promotion is in flight."""
        return not (self._restoring or self._pinned or self.hints.is_promoting)

    @property
    def is_idle(self) -> bool:
        """Whether the connection is quiet, and the tiers neither copy nor erase."""
        return self.is_quiet and not (self.tiers.has_copies or self.tiers.is_erasing)

    @property
    def has_late_copies(self) -> bool:
        """Whether results of copies are outstanding. They come with a later step."""
        return len(self.late) > 0

    @property
    def num_prefetched(self) -> int:
        """Number of blocks prefetched from lower tiers into host memory before a request needed them."""
        return self.tiers.num_brought_ahead

    def next_poll_seconds(self) -> float | None:
        """Return the seconds until `poll` is worth a call; None if only a new request can change that."""
        return self.tiers.next_poll_seconds()

    def on_arrival(self, request: Request) -> None:
        """Prefetch the queued request's blocks into host memory, and cancel the hints that it fulfils."""
        self.hints.on_arrival(request)
        if self._role == "decode" and request.output_token_ids:
            self._expect_partial(request)
        device = self._blocks.num_on_device(request)
        keys = request.block_keys[device : self._blocks.num_loadable(request)]
        in_cpu = self.tiers.num_in_cpu(keys)
        self.tiers.protect(keys[:in_cpu])
        if in_cpu == len(keys) or self.tiers.store.link_speed() is None:
            return
        if wanted := self._choose(request, device + in_cpu, keys[in_cpu:]):
            self.tiers.warm(request.request_id, keys[in_cpu : in_cpu + wanted])

    def _expect_partial(self, request: Request) -> None:
        """Expect in the tiers the last block of an answer that another engine began, filled up to the last token."""
        size, end = self._blocks.block_size, request.num_tokens - 1
        index = end // size
        if end % size and index <= len(request.block_keys):
            parent, tail = request.key_before(index), request.token_ids(index * size, end)
            self._partials.add(parent, block_key(parent, tail), tail)

    def touch(self, request: Request) -> None:
        """Mark the published blocks of `request`, which finishes, as recently used in every tier."""
        if request.num_published_blocks:
            size = self._blocks.block_size
            chain, num_prompt = request.block_keys[: request.num_published_blocks], request.num_prompt_tokens // size
            found = min(request.receipt.cached // size, len(chain)) if request.receipt is not None else 0
            self.tiers.touch(chain, found, request.marked_blocks(size))
            # Another answer to the same prompt is not another use of it.
            found = found if request.sampling.choice == 0 else 0
            self.tiers.admission.on_used(chain, found, num_prompt, at_once=not self._defers(request))

    def _defers(self, request: Request) -> bool:
        """Return whether a request's blocks are deferred: never where another engine reads them from a lower tier."""
        return self._role == "both" and request.may_be_deferred

    def promise(self, name: str, keys: Sequence[BlockKey], terms: PromiseTerms, patience: float) -> None:
        """See TierConnector. Blocks to promise that wait on the device are copied down with the next steps."""
        if terms.seconds:
            self.tiers.stores.hasten(keys)
        self.tiers.promises.begin(name, keys, terms, patience=patience)

    def take_promised(self, name: str) -> Promised | None:
        """See TierConnector."""
        self.tiers.promises.poll()
        return self.tiers.promises.take(name)

    def begin(self, request: Request) -> bool:
        """Start loading the blocks after the request's device prefix. Return False if there is nothing to wait for."""
        request.tiers_asked = True
        began = self._begin(request)
        if not began:
            self.tiers.stop_warming(request.request_id)
        return began

    def _begin(self, request: Request) -> bool:
        request.miss_reason = None
        device = len(request.blocks)
        partial = self._find_partial(request, device)
        keys = request.block_keys[device : partial.index if partial is not None else self._blocks.num_loadable(request)]
        if partial is not None:
            keys.append(partial.key)
        if not keys or self._blocks.find_last(request) is not None:
            return False
        in_cpu = self.tiers.num_in_cpu(keys)
        self.tiers.protect(keys[:in_cpu])
        wanted = in_cpu
        if in_cpu < len(keys) and keys[in_cpu] == self.tiers.missing(request.request_id):
            # The lower tiers were asked when the request arrived.
            missing = self.tiers.store.miss_of(keys[in_cpu])
            request.miss_reason = reason_of_miss(missing, self.tiers.stores.places_of(keys[in_cpu]))
        elif in_cpu < len(keys):
            wanted += self._choose(request, device + in_cpu, keys[in_cpu:])
        if wanted < len(keys):
            partial, keys = None, keys[:wanted]
        if not keys:
            return False
        return self._load(Restoring(request=request, num_before=device, num_blocks=len(keys), partial=partial), keys)

    def _choose(self, request: Request, index: int, keys: Sequence[BlockKey]) -> int:
        """Return how many of `keys` to load from the lower tiers.

        If the result is 0, record why, and ask the tiers in the background where that is worthwhile.

        keys: keys of the request's blocks from `index` on. The first block is not in host memory.
        """
        known = self.tiers.store.num_known_below(keys)
        choice = self._policy.choose(index, keys, known=known == len(keys))
        if choice is LoadChoice.LOAD:
            return len(keys)
        if known and self._policy.is_worth_loading(index, keys[:known]):
            return known
        if choice is LoadChoice.ASK:
            self._lookups.start(request, index, keys)
        elif choice is LoadChoice.LEAVE:
            self.tiers.probe(keys[0])
        request.miss_reason = self._policy.reason(choice, index, keys)
        return 0

    def _load(self, restoring: Restoring, keys: Sequence[BlockKey]) -> bool:
        request, before, count = restoring.request, restoring.num_before, restoring.num_blocks
        if self._blocks.grow(request, (before + count) * self._blocks.block_size) is None:
            return False
        restoring.keys = keys
        self._restoring[request.request_id] = restoring
        self.tiers.loads.begin(
            request.request_id,
            keys,
            [block.block_id for block in request.blocks[before:]],
            compute_seconds=self._policy.compute_seconds(before, count),
        )
        return True

    def tokens_until_answer(self, request: Request) -> int | None:
        """Return how many tokens a request should compute before its lookup is expected to be answered.

        None means no limit. 0 means that the tiers have answered, and the request waits for its steps in flight.
        """
        return self._lookups.tokens_until_answer(request)

    def take_answered(self) -> list[Request]:
        """Start loads for running requests if the lower tiers have blocks that are faster to load than to compute.

        Return these requests; the caller suspends them.
        """
        return [found.request for found in self._lookups.take_found() if self._load_found(found)]

    def _load_found(self, found: FoundBlocks) -> bool:
        request, count = found.request, len(found.keys)
        return self._load(
            Restoring(
                request=request, num_before=found.index, num_blocks=count, num_computed=request.num_computed_tokens
            ),
            found.keys,
        )

    def _find_partial(self, request: Request, device: int) -> StoredPartial | None:
        """Return the last block that was stored partly filled; None if there is none, or the device has as much of it.

        device: number of blocks that were found on the device.
        """
        size = self._blocks.block_size
        for index in range(self._blocks.num_loadable(request), device - 1, -1):
            known = request.token_ids(index * size, min((index + 1) * size, request.num_tokens - 1))
            partial = self._partials.find(index, request.key_before(index), known)
            if partial is not None:
                here = self._blocks.pool.find_partial(request.key_before(index), known) if index == device else None
                return None if here is not None and here.num_tokens >= partial.num_tokens else partial
        return None

    def _offer_partial(self, request: Request, block: KVCacheBlock) -> None:
        assert block.key is not None
        assert block.partial_of is not None
        if self._partials.add(block.partial_of, block.key, block.token_ids):
            self._offer(block, deferred=self._defers(request))

    def forget_waiting(self, request: Request) -> None:
        """Stop the prefetch of a request that finished before its turn."""
        self.tiers.stop_warming(request.request_id)

    def abort(self, request: Request) -> None:
        """Cancel the load of a request. The blocks return to the pool once no copy can write to them."""
        self._restoring[request.request_id].aborted = True
        self.tiers.loads.cancel(request.request_id)

    def lose_device(self) -> None:
        """Cancel all loads, discarding their blocks, and fail late copies: the workers that made them are gone."""
        self.hints.lose_device()
        self._give_up_on(self.late.take_all())
        for request_id, restoring in self._restoring.items():
            restoring.lost = True
            if not restoring.aborted:
                self.tiers.loads.cancel(request_id)

    def erase(self, keys: Sequence[BlockKey]) -> None:
        """Erase the blocks of `keys` from the tiers below.

        Blocks that are still being loaded for an aborted request will not be published on the device.
        """
        erased = set(keys)
        self._partials.erase(keys)
        self.hints.erase(keys)
        for restoring in self._restoring.values():
            restoring.erased |= restoring.aborted and not erased.isdisjoint(restoring.request.block_keys)
        self.tiers.erase(keys)

    def to_repeat(self, keys: Sequence[BlockKey]) -> list[BlockKey]:
        """See TierConnector."""
        return self.tiers.to_repeat(keys)

    def erased(self, keys: Sequence[BlockKey]) -> bool | None:
        """See TierConnector."""
        return self.tiers.erased(keys)

    def poll(self) -> list[Request]:
        """Return the requests whose load ended. Their tables hold the blocks that arrived, which are published."""
        ended: list[Request] = []
        self.hints.forget_lapsed()
        for outcome in self.tiers.poll():
            if outcome.load_id == PROMOTION_ID:
                self.hints.on_promoted(outcome)
                continue
            now, counts = time.perf_counter(), Counter(outcome.sources)
            self._trace.add(Track.RESTORES, outcome.load_id, now - outcome.seconds, now, **counts)
            restoring = self._restoring.pop(outcome.load_id)
            request = restoring.request
            if restoring.lost:
                self._give_up(restoring)
                if not restoring.aborted:
                    request.restored = None
                    ended.append(request)
                continue
            request.loaded_blocks += counts
            request.timeline.lookup += outcome.lookup_seconds
            if outcome.num_blocks < restoring.num_blocks:
                key = restoring.keys[outcome.num_blocks]
                missing = self.tiers.store.miss_of(key)
                request.miss_reason = reason_of_load(outcome.end, missing, self.tiers.stores.places_of(key))
            self._blocks.shrink(request, restoring.num_before + outcome.num_blocks)
            restored = restoring.num_restored(outcome, self._blocks.block_size)
            request.restore_to(restored)
            request.restored = restoring.restored(outcome, restored, self._blocks.block_size)
            if request.receipt is not None and restored > restoring.num_computed > 0:
                self._add_to_receipt(request, request.receipt, request.restored, restoring.num_computed, restored)
            if restoring.erased:
                request.unconfirm()
            self._blocks.publish_full(request)
            if restoring.aborted:
                self._blocks.free(request)
            else:
                ended.append(request)
        return ended

    def _give_up(self, restoring: Restoring) -> None:
        request = restoring.request
        request.reset()
        self._blocks.free(request)

    def _add_to_receipt(self, request: Request, receipt: KVReceipt, restored: Restored, before: int, end: int) -> None:
        """Update the receipt of a request that had computed `before` tokens when the rest up to `end` was restored."""
        request.receipt = with_restored(receipt, end - before, restored)
        more = self.prefill.seconds(before, end)
        if request.reuse_seconds is not None and more is not None:
            request.reuse_seconds += more
        if request.reuse is not None and request.reuse.end is not None:
            detail = (
                f"the prefill began before the lower tiers had answered; tokens from {before} on were loaded after all"
            )
            request.reuse = replace(request.reuse, end=replace(request.reuse.end, detail=detail))

    def num_kept(self, request: Request) -> int:
        """Count the leading full blocks that are stored below, or are being stored, and so outlive the request."""
        kept = request.num_published_blocks
        # Blocks are stored in the order in which they fill, so those that are not stored are the last.
        while kept and not self.tiers.stores.has_taken(request.block_keys[kept - 1]):
            kept -= 1
        return kept

    def offer(self, request: Request, indices: Iterable[int]) -> None:
        """Offer blocks of the request's table that just became full to the tiers."""
        marked, defers = request.marked_blocks(self._blocks.block_size), self._defers(request)
        for index in indices:
            self._partials.drop(request.key_before(index), request.blocks[index].token_ids)
            self._offer(request.blocks[index], deferred=defers and index not in marked)
        if request.may_be_promised:
            self.tiers.stores.hasten(request.keys_to_promise(self._blocks.block_size))

    def _offer(self, block: KVCacheBlock, *, deferred: bool | None = None) -> None:
        assert block.key is not None
        if self.tiers.offer(block.key, block.block_id, deferred=deferred):
            self._blocks.pool.mark_unsaved(block)

    def would_lose(self, request: Request) -> bool:
        """Return whether admitting `request` now evicts blocks of its own tenant that could be stored moments later.

        A short wait then keeps them. Return False if no lower tier is available, or if loading takes longer than
        computing.
        """
        pool, missing = self._blocks.pool, self._blocks.num_missing(request)
        if not pool.num_losses(request.owner, missing) or not self.tiers.stores.may_store_soon:
            return False
        found = 0 if request.blocks else self._blocks.num_on_device(request)
        if not pool.num_losses(request.owner, missing - found) or not request.block_keys:
            return False
        return self._policy.is_worth_loading(0, request.block_keys)

    def miss_reason(self, request: Request) -> MissReason | None:
        """Return why reuse ended where it did at the request's admission; None if nothing was missing."""
        return request.miss_reason

    def compute_seconds(self, num_tokens: int) -> float | None:
        """Estimate the time to compute the first `num_tokens` of a prompt; None if unknown."""
        return self.prefill.seconds(0, num_tokens)

    def add_hint(self, name: str, tenant: str, keys: Sequence[BlockKey], token_ids: Sequence[int]) -> bool:
        """Add the prefetch hint `name`. Return True if there is anything to load."""
        return self.hints.add_hint(name, tenant, keys, token_ids)

    def cancel_hint(self, name: str) -> None:
        """Cancel the prefetch hint `name`. Do nothing if there is none."""
        self.hints.forget(name)

    def promote_hints(self) -> None:
        """Copy hinted blocks from host memory to the device. Call while there is no request."""
        self.hints.promote()

    def take_loads(self, seconds: float) -> tuple[TransferJob, ...]:
        """Take the loads of the next step: as many as should be copied within `seconds`, counting late ones."""
        return self.tiers.loads.take(seconds, self.late.num_loads)

    def take_stores(
        self, last_step_tokens: int, *, at_rest: bool, others_wait: bool, prompts: bool, urgent: bool = False
    ) -> tuple[TransferJob, ...]:
        """Take the stores of the next step. Call before the step allocates blocks.

        Stores yield to prompts and loads, but for at most `MAX_HELD_SECONDS`: under constant load they would otherwise
        never be made. Stores do not yield if they are urgent or hasty, or if the next allocations would evict blocks
        that no tier below has.

        last_step_tokens: tokens that the previous step computed. at_rest: whether no request runs. others_wait: whether
        requests are in the queue. prompts: whether running requests wait for their first token. urgent: whether a
        request waits until blocks have been stored.
        """
        pool = self._blocks.pool
        needed = max(pool.num_to_save(pool.num_blocks // RESERVED_PART), self.tiers.stores.num_hasty)
        if urgent or self._role == "prefill":
            needed = MAX_STORES
        if needed:
            return self._take_stores(min(needed, MAX_STORES, max(1, pool.num_free // 2)), at_rest=False)
        now = self._clock()
        if not (prompts or self.num_loading):
            self._held_since = None
        elif self._held_since is None:
            self._held_since = now
        if self._held_since is not None and now - self._held_since < MAX_HELD_SECONDS:
            return ()
        return self._take_stores(stores_of_step(last_step_tokens, others_wait=others_wait), at_rest=at_rest)

    def _take_stores(self, most: int, *, at_rest: bool) -> tuple[TransferJob, ...]:
        pool, stores = self._blocks.pool, []
        most = min(most, MAX_STORES - self.late.num_stores)
        for key, job in self.tiers.stores.take(most, at_rest=at_rest):
            pool.mark_saved(key)
            if job is not None:
                block = pool.acquire_published(key)
                assert block is not None
                assert block.block_id == job.block_id
                self._pinned[key] = block
                stores.append(job)
        return tuple(stores)

    def on_computed(self, step: SchedulerOutput, seconds: float) -> None:
        """Record that a forward pass of `step` took `seconds`."""
        self.tiers.stores.on_computed()
        self.prefill.note(step, seconds)

    def complete(self, step: SchedulerOutput, results: tuple[TransferResult, ...]) -> None:
        """Take the results of copies that came with a step. Some may belong to copies of earlier steps."""
        self.late.on_results(step, results)
        self._complete(results)

    def fail_step(self, step: SchedulerOutput) -> None:
        """Expect the results of a step that raised to come with later steps.

        If the step had no tokens, all copies have ended, and no result will come: late copies count as failed.
        """
        self.late.on_failure(step)
        if not step.num_scheduled_tokens:
            self._give_up_on(self.late.take_all())

    def lose_step(self, step: SchedulerOutput) -> None:
        """Fail the copies of a step whose workers are gone."""
        self._give_up_on((*step.loads, *step.stores))

    def _give_up_on(self, jobs: Iterable[TransferJob]) -> None:
        self._complete(tuple(TransferResult(job.job_id, 0.0, "the step failed") for job in jobs))

    def _complete(self, results: tuple[TransferResult, ...]) -> None:
        for key, is_copied in self.tiers.complete(results).items():
            block = self._pinned.pop(key)
            if not is_copied and block.key == key:
                self._offer(block)
            self._blocks.pool.release([block])

    def leak_check(self) -> LeakCheck:
        """See TierConnector."""
        assert len(self._restoring) + self.hints.is_promoting == len(self.tiers.loads), "a load has no owner"
        assert self._blocks.pool.num_unsaved == self.tiers.stores.num_unstored, (
            "an unsaved block is not going to be stored"
        )
        yield from self.tiers.leak_check()
