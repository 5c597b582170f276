"""Where the scheduler meets the tiers: device blocks are pinned here for as long as bytes move in or out of them."""

import time
from collections.abc import Iterable
from dataclasses import dataclass

from cache_tiers.block_key import BlockKey
from cache_tiers.manager import LoadOutcome, TierManager
from cache_tiers.transfer import TransferJob, TransferResult
from engine.kv.block import KVCacheBlock
from engine.kv.block_manager import BlockManager
from engine.kv.stored_tails import StoredTail, StoredTails
from engine.request import Request
from engine.tracing import NO_TRACE, Trace, Track

MOST_STORES = 16
MOST_STORES_AT_REST = 4
MOST_TAILS = 4096


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
    """tail: the last block of the load, if that is only partly filled."""

    request: Request
    num_device_blocks: int
    num_blocks: int
    tail: StoredTail | None
    aborted: bool = False

    def restored(self, outcome: LoadOutcome, block_size: int) -> int:
        """Tokens whose KV is there now; at least one of the request is left to be computed."""
        tokens = (self.num_device_blocks + outcome.num_blocks) * block_size
        if self.tail is not None and outcome.num_blocks == self.num_blocks:
            tokens -= block_size - self.tail.num_tokens
        return min(tokens, self.request.num_tokens - 1)


class Tiering:
    """Restores prefixes into block tables and writes full blocks behind.

    A loading request's blocks belong to it until the outcome comes, also when it is aborted meanwhile: no copy ever
    lands in a block that somebody else was given.
    """

    def __init__(self, tiers: TierManager, blocks: BlockManager, trace: Trace = NO_TRACE) -> None:
        self.tiers = tiers
        self._blocks = blocks
        self._trace = trace
        self._restoring: dict[str, _Restoring] = {}
        self._tails = StoredTails(most=MOST_TAILS, least=max(1, blocks.block_size // 8))
        blocks.watch_tails(self._offer_tail)
        self._pinned: dict[BlockKey, KVCacheBlock] = {}

    @property
    def num_loading(self) -> int:
        """Requests in LOADING, and aborted ones whose copies have not ended."""
        return len(self._restoring)

    @property
    def is_quiet(self) -> bool:
        """Whether no byte moves."""
        return not self._restoring and not self._pinned

    def begin(self, request: Request) -> bool:
        """Start to load what follows the request's device prefix; False if there is nothing to wait for."""
        device = len(request.blocks)
        tail = self._find_tail(request, device)
        keys = request.block_keys[device : tail.index if tail is not None else self._blocks.num_loadable(request)]
        if tail is not None:
            keys.append(tail.key)
        if not keys or self._blocks.find_last(request) is not None or not self.tiers.may_have(keys[0]):
            return False
        new = self._blocks.grow(request, (device + len(keys)) * self._blocks.block_size)
        if new is None:
            return False
        self._restoring[request.request_id] = _Restoring(request, device, len(keys), tail)
        self.tiers.begin_load(request.request_id, keys, [block.block_id for block in new])
        return True

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
            self.tiers.offer(block.key, block.block_id)

    def abort(self, request: Request) -> None:
        """Its blocks return to the pool once no copy can touch them any more."""
        self._restoring[request.request_id].aborted = True
        self.tiers.cancel_load(request.request_id)

    def poll(self) -> list[tuple[Request, LoadOutcome]]:
        """Requests whose load ended, with what arrived published and in their block tables."""
        ended = []
        for outcome in self.tiers.poll_loads():
            now, counts = time.perf_counter(), {"cpu": outcome.from_cpu, "redis": outcome.from_redis}
            self._trace.add(Track.RESTORES, outcome.load_id, now - outcome.seconds, now, **counts)
            restoring = self._restoring.pop(outcome.load_id)
            request = restoring.request
            self._blocks.shrink(request, restoring.num_device_blocks + outcome.num_blocks)
            restored = restoring.restored(outcome, self._blocks.block_size)
            request.num_computed_tokens = request.num_confirmed_tokens = restored
            self._blocks.publish_full(request)
            if restoring.aborted:
                self._blocks.free(request)
            else:
                ended.append((request, outcome))
        return ended

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
            self.tiers.offer(request.block_keys[index], request.blocks[index].block_id)

    def take_copies(
        self, last_step_tokens: int, *, at_rest: bool, others_wait: bool
    ) -> tuple[tuple[TransferJob, ...], tuple[TransferJob, ...]]:
        """(loads, stores) for the step that is being put together, before it allocates anything.

        at_rest: nobody runs.
        """
        stores = []
        most = stores_of_step(last_step_tokens, others_wait=others_wait)
        for key, job in self.tiers.take_stores(most, at_rest=at_rest):
            block = self._blocks.pool.acquire_published(key)
            assert block is not None
            assert block.block_id == job.block_id
            self._pinned[key] = block
            stores.append(job)
        return self.tiers.take_loads(), tuple(stores)

    def complete(self, results: tuple[TransferResult, ...]) -> None:
        """Copies that ended."""
        stored = self.tiers.complete(results)
        self._blocks.pool.release([self._pinned.pop(key) for key in stored])

    def check(self) -> None:
        """Raise AssertionError on a pin or a load without an owner."""
        assert len(self._restoring) == self.tiers.num_loading, "a load has no request"
        self.tiers.check()
