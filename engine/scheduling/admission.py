"""What a request gets when its turn has come: the prefix that is known, and the promise of room for the rest."""

from cache_tiers.transfer import BlockCopy
from engine.kv.block_manager import BlockManager
from engine.outputs import KVReceipt, Reuse, ReuseEnd
from engine.request import Request, RequestStatus, Restored
from engine.scheduling.request_states import RequestStates
from engine.scheduling.siblings import source_of, take_prompt
from engine.scheduling.tiering import Tiering


class Admission:
    """`tiering` is None when nothing lies below the device."""

    def __init__(self, states: RequestStates, blocks: BlockManager, tiering: Tiering | None) -> None:
        self._states = states
        self._blocks = blocks
        self._tiering = tiering
        self._copies: list[BlockCopy] = []

    def admit(self, request: Request, promised: int) -> bool:
        """Give it its cached prefix and see that all of its known tokens fit; may turn it to LOADING or FOLLOWING.

        promised: free blocks that prompts in the batch have yet to take. Two prompts that count on the same block end
        with one of them preempted.
        """
        if not request.blocks:
            device = self._blocks.match_prefix(request)
            if (source := source_of(request, self._blocks.block_size)) is not None:
                return self._fork(request, source, promised)
            if self._states.followers.follow(request, self._states.running):
                self._blocks.free(request)
                request.status = RequestStatus.FOLLOWING
                return True
            if not self._fits(request, promised):
                self._blocks.free(request)
                return False
            if self._tiering is not None and not request.tiers_asked:
                request.tiers_asked = True
                if self._tiering.begin(request):
                    request.status = RequestStatus.LOADING
                    return True
            request.num_computed_tokens = request.num_confirmed_tokens = device * self._blocks.block_size
        if not self._fits(request, promised + self._blocks.shares_last(request)):
            return False
        self._claim_tail(request)
        return True

    def _fork(self, request: Request, source: Request, promised: int) -> bool:
        """Go on from the prompt of a sibling."""
        take_prompt(request, source, self._blocks)
        if not self._fits(request, promised + self._blocks.shares_last(request)):
            request.num_computed_tokens = request.num_confirmed_tokens = 0
            self._blocks.free(request)
            return False
        self._claim_tail(request)
        return True

    def take_copies(self) -> tuple[BlockCopy, ...]:
        """Copies within the device for the step that is being put together."""
        copies, self._copies = tuple(self._copies), []
        return copies

    def _fits(self, request: Request, promised: int) -> bool:
        return self._blocks.num_missing(request) + promised <= self._blocks.pool.num_free

    def _claim_tail(self, request: Request) -> None:
        if request.num_computed_tokens == len(request.blocks) * self._blocks.block_size:
            tokens, copy = self._blocks.claim_tail(request)
            request.num_computed_tokens += tokens
            request.num_confirmed_tokens = request.num_computed_tokens
            if copy is not None:
                self._copies.append(copy)
        elif self._blocks.shares_last(request):
            self._copies.append(self._blocks.own_last(request))
        if request.started is None:
            request.receipt = self._receipt(request)
            request.reuse = self._reuse(request)
            request.reuse_seconds = self._tiering.prefill.seconds(0, request.receipt.cached) if self._tiering else None

    def _reuse(self, request: Request) -> Reuse | None:
        if not self._blocks.prefix_cache:
            return None
        end = request.reuse_end
        if self._tiering is None:
            end = ReuseEnd("evicted", "nothing lies below the device", ("device",))
        return Reuse(request.num_computed_tokens, self._states.prefixes.longest(request), end)

    def _receipt(self, request: Request) -> KVReceipt:
        """Of its first admission: what was not restored and need not be computed was on the device."""
        cached, restored = request.num_computed_tokens, request.restored or Restored(0, 0, 0.0)
        cpu = min(restored.cpu, cached)
        redis = min(restored.redis, cached - cpu)
        seconds = restored.seconds if cpu or redis else 0.0
        return KVReceipt(cached - cpu - redis, cpu, redis, request.num_tokens - cached, seconds * 1e3)
