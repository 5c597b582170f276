"""Room for requests: block tables grow, and waiting requests begin, at the cost of others where no block is free.

No request stands still for ever. Holders of blocks have a total order, their rank (`Shares.rank`): the level that the
queue gives them, what their tenant holds ahead of them, then arrival. A running request that needs a block takes
restored ones from waiting requests, then all blocks of a running request behind it in rank, and else stands still for
this step.

Consider the oldest running request (under "priority": the oldest of the smallest level). It is its tenant's oldest, so
no other has a smaller rank, and no later arrival can get one: a later one is at best its own tenant's oldest, and then
arrival decides. So it is never stopped, and stands still only while others compute in the same step. These need blocks
too before long, find none behind them and stand still themselves, so that the oldest gets its blocks in the next step.
It ends, and then another one is the oldest.

While any running request lacks a block, a waiting request begins only if it ranks before all that lack one: it comes
from a tenant that holds less, and takes from tenants that hold more, never their oldest (`Shares.may_begin_before`).
So it never delays the oldest running request. Each such stop is followed by the start of the request that it was made
for, whose place the stopped one has no claim to, so requests do not stop each other in turns.

A request in the queue comes to its turn: a tenant without one for the maximum wait is next, for every second turn at
most, and within a tenant it is the same (`Line`). Candidates that rank behind an overdue one do not pass it, so
running requests end until there is room for it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from engine.kv.block_manager import BlockManager
from engine.request import Request
from engine.scheduling.request_states import RequestStates
from engine.scheduling.shares import Shares
from engine.scheduling.step_draft import StepDraft
from engine.scheduling.tiering import Tiering
from engine.scheduling.victim import VictimCandidate, choose_victim, lost_tokens


class Room:
    """`tiering` is None when nothing lies below the device. num_places: in the batch."""

    def __init__(
        self, states: RequestStates, blocks: BlockManager, tiering: Tiering | None, *, num_places: int
    ) -> None:
        self._states = states
        self._blocks = blocks
        self._tiering = tiering
        self._num_places = num_places

    def grow(self, request: Request, num_tokens: int, draft: StepDraft) -> bool:
        """Make room for positions [0, num_tokens) of a running request; return False if it has to stand still.

        Requests that are part of the step already are left alone.
        """
        while self._blocks.grow(request, num_tokens) is None:
            if self._states.reclaim_restored(but=request):
                continue
            missing = self._blocks.num_blocks_for(num_tokens) - len(request.blocks) - self._blocks.pool.num_free
            shares = self._states.shares(self._num_places)
            rank = shares.rank(request)
            behind = [
                other
                for other in self._states.running
                if other.request_id not in draft.counts and shares.rank(other) > rank
            ]
            victim = choose_victim(self._candidates(behind, shares), missing)
            if victim is None:
                return False
            self._states.preempt(victim, draft.now)
        return True

    def clear(self, num_blocks: int, stoppable: Sequence[Request], now: float) -> bool:
        """Have `num_blocks` free, for which the running requests `stoppable` may be stopped.

        If that would not be enough, none is stopped, and the answer is False.
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
        """Stop one of `stoppable` that still runs, the cheapest that frees `num_blocks`; there must be one."""
        running = [request for request in stoppable if request in self._states.running]
        victim = choose_victim(self._candidates(running, self._states.shares(self._num_places)), num_blocks)
        assert victim is not None
        self._states.preempt(victim, now)

    def _num_freed(self, requests: Iterable[Request]) -> int:
        """Count the blocks that nobody would use if these requests were stopped together."""
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
        """Count the blocks of its beginning that it will find again: below, or on the device if nothing lies below."""
        return self._tiering.num_kept(request) if self._tiering is not None else request.num_published_blocks
