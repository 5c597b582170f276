"""Room for running requests: block tables grow, at the cost of others where no block is free.

Nobody stands still for ever. Running requests have a total order, their rank: what the queue says that they are worth
(`level`), then arrival. Who needs a block takes restored ones from who waits, then all blocks of a running request
*behind* it, and else stands still for this step. So the first in rank is never stopped, and stands still only while
others compute in the same step; these need blocks too before long, find nobody behind them and stand still themselves,
so that the first comes to their blocks in the next step. It ends; then the second is first. Meanwhile nobody begins:
as long as anybody who runs lacks a block, nobody who waits is admitted. Ranks do not change under way, and those before
a request are finite in number: under "fcfs" and "fair" they came earlier; under "priority", once a request was overdue,
they were overdue too and came earlier.
"""

from engine.kv.block_manager import BlockManager
from engine.request import Request
from engine.scheduling.request_states import RequestStates
from engine.scheduling.step_draft import StepDraft
from engine.scheduling.tiering import Tiering
from engine.scheduling.victim import VictimCandidate, choose_victim, lost_tokens


class Room:
    """`tiering` is None when nothing lies below the device."""

    def __init__(self, states: RequestStates, blocks: BlockManager, tiering: Tiering | None) -> None:
        self._states = states
        self._blocks = blocks
        self._tiering = tiering

    def grow(self, request: Request, num_tokens: int, draft: StepDraft) -> bool:
        """Room for positions [0, num_tokens) of a running request; False if it has to stand still.

        Whoever is part of the step already is left alone.
        """
        while self._blocks.grow(request, num_tokens) is None:
            if self._states.reclaim_restored(but=request):
                continue
            missing = self._blocks.num_blocks_for(num_tokens) - len(request.blocks) - self._blocks.pool.num_free
            victim = choose_victim(self._candidates(request, draft), missing)
            if victim is None:
                return False
            self._states.preempt(victim, draft.now)
        return True

    def _candidates(self, request: Request, draft: StepDraft) -> list[VictimCandidate]:
        rank = self._states.rank(request)
        return [
            VictimCandidate(
                other,
                self._states.queue.level(other),
                lost_tokens(other.num_computed_tokens, self._num_kept(other), self._blocks.block_size),
                sum(block.ref_count == 1 for block in other.blocks),
            )
            for other in self._states.running
            if other.request_id not in draft.counts and self._states.rank(other) > rank
        ]

    def _num_kept(self, request: Request) -> int:
        """Blocks of its beginning that it will find again: below, or on the device if nothing lies below."""
        return self._tiering.num_kept(request) if self._tiering is not None else request.num_published_blocks
