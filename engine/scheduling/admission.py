"""Admission of requests to the batch: reuse the cached prefix, then allocate blocks for the rest."""

from collections import Counter
from collections.abc import Sequence

from cache_tiers.tier import CPU, DEVICE, TierId
from cache_tiers.transfer import BlockCopy
from engine.api.outputs import KVReceipt, Reuse
from engine.block_tables.block_manager import BlockManager
from engine.offload.interface import TierConnector
from engine.request.request import Lack, Request, RequestStatus, Restored
from engine.scheduling.block_allocation import BlockAllocation
from engine.scheduling.prefix_waiters import source_of, take_prompt
from engine.scheduling.request_states import RequestStates


class Admission:
    """Admission of waiting requests to the batch.

    connector: connection to the tiers below the device.
    """

    def __init__(
        self, states: RequestStates, blocks: BlockManager, connector: TierConnector, room: BlockAllocation
    ) -> None:
        self._states = states
        self._blocks = blocks
        self._room = room
        self._connector = connector
        self._copies: list[BlockCopy] = []

    def admit(self, request: Request, now: float, stoppable: Sequence[Request] = ()) -> bool:
        """Reuse the cached prefix of `request` and allocate blocks for all of its known tokens.

        Return False, leaving the block table unchanged, if there is no room. Otherwise return True, with the status set
        to LOADING or WAITING_FOR_PREFIX if the rest of the prefix comes from the tiers or from another request.

        All blocks are allocated up front. Otherwise two prompts could count on the same free blocks, and one of them
        would be preempted.

        stoppable: running requests that may be preempted to make room.
        """
        if not request.blocks:
            if self._lacks_still(request, stoppable):
                return False
            device = self._blocks.match_prefix(request)
            if (source := source_of(request, self._blocks.block_size)) is not None:
                return self._fork(request, source, now, stoppable)
            if self._states.prefix_waiters.wait_for_prefix(request, self._states.running):
                self._blocks.free(request)
                request.status = RequestStatus.WAITING_FOR_PREFIX
                return True
            if not self._find_room(request, now, stoppable):
                self._refuse(request)
                return False
            if not request.tiers_asked and self._connector.begin(request):
                request.status = RequestStatus.LOADING
                return True
            request.restore_to(device * self._blocks.block_size)
        if not self._find_room(request, now, stoppable):
            return False
        self._settle(request)
        return True

    def _fork(self, request: Request, source: Request, now: float, stoppable: Sequence[Request]) -> bool:
        """Continue from the prompt of the sibling `source`. Return False if there is no room."""
        take_prompt(request, source, self._blocks)
        if not self._find_room(request, now, stoppable):
            request.reset()
            self._refuse(request)
            return False
        self._settle(request)
        return True

    def _find_room(self, request: Request, now: float, stoppable: Sequence[Request]) -> bool:
        missing = self._blocks.num_missing(request) + self._shares_last(request)
        return self._room.clear(missing, stoppable, now)

    def _shares_last(self, request: Request) -> bool:
        return bool(request.num_computed_tokens) and self._blocks.shares_last(request)

    def _refuse(self, request: Request) -> None:
        """Free the matched prefix and record the shortage. Until it ends, the prompt is not looked up again."""
        found, missing = len(request.blocks), self._blocks.num_missing(request)
        keys = request.block_keys[found : found + 1]
        self._blocks.free(request)
        request.lack = Lack(missing, keys[0] if keys else None)

    def _lacks_still(self, request: Request, stoppable: Sequence[Request]) -> bool:
        """Return whether the last shortage still applies, without a new prefix lookup."""
        lack, pool = request.lack, self._blocks.pool
        if lack is None or (lack.next_key is not None and pool.has(lack.next_key)):
            return False
        return lack.num_blocks > pool.num_free + sum(len(each.blocks) for each in stoppable)

    def take_copies(self) -> tuple[BlockCopy, ...]:
        """Remove and return the copies within the device that the next step has to make."""
        copies, self._copies = tuple(self._copies), []
        return copies

    def _settle(self, request: Request) -> None:
        """Reuse a partly filled block where one matches, and allocate the remaining blocks. There must be room."""
        if request.num_computed_tokens == len(request.blocks) * self._blocks.block_size:
            tokens, copy = self._blocks.claim_partial(request)
            request.restore_to(request.num_computed_tokens + tokens)
            if copy is not None:
                self._copies.append(copy)
        elif self._blocks.shares_last(request):
            self._copies.append(self._blocks.own_last(request))
        grown = self._blocks.grow(request, request.num_tokens)
        assert grown is not None, "no block was free for an admitted request"
        if request.started is None:
            request.receipt = self._receipt(request)
            request.reuse = self._reuse(request)
            request.reuse_seconds = self._connector.compute_seconds(request.receipt.cached)

    def _reuse(self, request: Request) -> Reuse | None:
        if not self._blocks.prefix_cache:
            return None
        end = self._connector.miss_reason(request)
        return Reuse(request.num_computed_tokens, self._states.prefixes.longest(request), end)

    def _receipt(self, request: Request) -> KVReceipt:
        """Make the receipt of the first admission: cached tokens that no load restored were on the device."""
        cached, restored = request.num_computed_tokens, request.restored or Restored(Counter(), 0.0)
        reused = restored.first(cached)
        seconds = restored.seconds if reused.total() else 0.0
        reused[DEVICE.id] = cached - reused.total()
        # The blocks that a load restored are not those that a hint had brought.
        held = cached - sum(count for tier, count in reused.items() if tier not in (DEVICE.id, CPU.id))
        prefetched = Counter[TierId]()
        for key in request.block_keys[: held // self._blocks.block_size]:
            if (source := request.prefetched.get(key)) is not None:
                prefetched[source] += self._blocks.block_size
        return KVReceipt(
            reused=reused, computed=request.num_tokens - cached, restore_ms=seconds * 1e3, prefetched=prefetched
        )
