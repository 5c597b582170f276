"""Block allocation for running and waiting requests, by preemption where no block is free.

Progress guarantee: no request stalls forever. Holders of blocks have a total order, their precedence
(`Shares.precedence`, where the smallest tuple is the highest): the queue's level, then the share that their tenant
holds ahead of them, then arrival. A running request that needs a block takes restored blocks from waiting requests,
then preempts a running request of a lower precedence. If there is none, it stalls for this step.

Consider the oldest running request (under "priority": the oldest of the smallest level). No other request outranks it,
because it is the oldest of its tenant. No later arrival can, because at best it is the oldest of its own tenant, and
then arrival decides. So the oldest running request is never preempted, and stalls only while others compute in the same
step. The others soon need blocks too, find none of a lower precedence and stall, so the oldest gets its blocks in the
next step. When it finishes, another request is the oldest.

While a running request lacks a block, a waiting request begins only if it outranks all requests that lack one. Such a
request belongs to a tenant that holds less, and takes blocks from tenants that hold more. The oldest request of a
tenant is never preempted for it (`Shares.may_begin_before`), so the oldest running request is never delayed. After each
such preemption the request that it was made for starts. The preempted request has no claim to that place, so requests
do not preempt each other back and forth.

Every request in the queue gets its turn. A tenant without a turn for the maximum wait is next, for every second turn at
most, and the same holds for the requests of one tenant (`Line`). Candidates of a lower precedence do not overtake an
overdue one, so running requests finish until there is room for it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from engine.block_tables.block_manager import BlockManager
from engine.offload.interface import TierConnector
from engine.request.request import Request
from engine.scheduling.request_states import RequestStates
from engine.scheduling.shares import Shares
from engine.scheduling.step_draft import StepDraft
from engine.scheduling.victim import VictimCandidate, choose_victim, lost_tokens


class BlockAllocation:
    """Allocator of blocks that preempts requests where needed.

    connector: connection to the tiers below the device. num_places: places in the batch.
    """

    def __init__(
        self, states: RequestStates, blocks: BlockManager, connector: TierConnector, *, num_places: int
    ) -> None:
        self._states = states
        self._blocks = blocks
        self._connector = connector
        self._num_places = num_places

    def grow(self, request: Request, num_tokens: int, draft: StepDraft) -> bool:
        """Make room for positions [0, num_tokens) of a running request; return False if it stalls for this step.

        Requests that are already part of the step are not preempted.
        """
        while self._blocks.grow(request, num_tokens) is None:
            if self._states.reclaim_restored(exclude=request):
                continue
            missing = self._blocks.num_blocks_for(num_tokens) - len(request.blocks) - self._blocks.pool.num_free
            shares = self._states.shares(self._num_places)
            precedence = shares.precedence(request)
            behind = [
                other
                for other in self._states.running
                if other.request_id not in draft.counts and shares.precedence(other) > precedence
            ]
            victim = choose_victim(self._candidates(behind, shares), missing)
            if victim is None:
                return False
            self._states.preempt(victim, draft.now)
        return True

    def clear(self, num_blocks: int, stoppable: Sequence[Request], now: float) -> bool:
        """Free `num_blocks` blocks, preempting running requests of `stoppable` if needed.

        Return False, without preempting any, if preempting all of them would not be enough.
        """
        pool = self._blocks.pool
        if num_blocks <= pool.num_free:
            return True
        if num_blocks > pool.num_free + sum(len(each.blocks) for each in stoppable):
            return False
        if num_blocks > pool.num_free + self._num_freed(stoppable):
            return False
        while num_blocks > pool.num_free:
            self.stop_one(stoppable, num_blocks - pool.num_free, now)
        return True

    def stop_one(self, stoppable: Iterable[Request], num_blocks: int, now: float) -> None:
        """Preempt the running request of `stoppable` that is best suited to free `num_blocks`. One must be running."""
        running = [request for request in stoppable if request in self._states.running]
        victim = choose_victim(self._candidates(running, self._states.shares(self._num_places)), num_blocks)
        assert victim is not None
        self._states.preempt(victim, now)

    def _num_freed(self, requests: Iterable[Request]) -> int:
        """Count the blocks that would be free if all of `requests` were preempted."""
        users = Counter(block for request in requests for block in request.blocks)
        return sum(block.ref_count == count for block, count in users.items())

    def _candidates(self, requests: Iterable[Request], shares: Shares) -> list[VictimCandidate]:
        return [
            VictimCandidate(
                request,
                self._states.queue.level(request),
                shares.of_tenant(request),
                lost_tokens(request.num_computed_tokens, self._num_kept(request), self._blocks.block_size),
                sum(block.ref_count == 1 for block in request.blocks),
            )
            for request in requests
        ]

    def _num_kept(self, request: Request) -> int:
        """Count the leading blocks that a preempted request can reuse later.

        These are the blocks that the tiers below have or, without tiers, the published ones on the device.
        """
        return self._connector.num_kept(request)
