"""A step while it is being put together."""

from dataclasses import dataclass, field

from engine.request import Request
from engine.scheduling.budget import SchedulingBudget
from engine.scheduling.output import CachedRequestData, NewRequestData


@dataclass(slots=True)
class StepDraft:
    """now: when it was begun. counts: request id -> tokens to compute; its order is the batch's order.

    passes: forward passes; a request that decodes computes a token in each. masks, is_awaited, drafts: see
    SchedulerOutput.
    """

    now: float
    budget: SchedulingBudget
    passes: int = 1
    counts: dict[str, int] = field(default_factory=dict)
    new: list[NewRequestData] = field(default_factory=list)
    cached: list[CachedRequestData] = field(default_factory=list)
    masks: dict[str, bytes] = field(default_factory=dict)
    is_awaited: bool = False
    drafts: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def add_new(self, request: Request, count: int) -> None:
        """The worker does not know it; its blocks hold room for `count` more tokens."""
        assert self.passes == 1, "a prompt is in a step of several passes"
        self.new.append(
            NewRequestData(
                request.request_id,
                request.token_ids(0, request.num_tokens),
                request.num_prompt_tokens,
                tuple(block.block_id for block in request.blocks),
                request.num_computed_tokens,
                request.sampling,
            )
        )
        request.known_to_worker = True
        request.untold_token_ids.clear()
        self._take(request, count)

    def add_cached(
        self, request: Request, count: int, num_blocks_before: int, speculated: tuple[int, ...] = ()
    ) -> None:
        """The worker knows it with its first `num_blocks_before` blocks. speculated: what may come behind its tokens,
        and is computed beside the `count`."""
        grown = len(request.blocks) > num_blocks_before
        new_ids = tuple([block.block_id for block in request.blocks[num_blocks_before:]]) if grown else ()
        untold = tuple(request.untold_token_ids)
        self.cached.append(CachedRequestData(request.request_id, new_ids, request.num_computed_tokens, untold))
        request.untold_token_ids.clear()
        self._take(request, count)
        if speculated:
            self._speculate(request, speculated)

    def _take(self, request: Request, count: int) -> None:
        self.budget.take(count)
        self.counts[request.request_id] = count
        request.num_computed_tokens += count + self.passes - 1
        request.steps_in_flight += 1
        if request.started is None:
            request.started = self.now
        if request.num_pending_tokens + self.passes == 1:
            if request.needs_known_tokens:
                assert self.passes == 1, "tokens that must be known one by one are in a step of several passes"
                assert not request.samples_in_flight, "a token is chosen before the one that it follows is known"
                self.is_awaited = True
            if request.mask is not None:
                self.masks[request.request_id] = request.mask.words()
            request.samples_in_flight += self.passes

    def _speculate(self, request: Request, speculated: tuple[int, ...]) -> None:
        assert self.passes == 1, "a draft is in a step of several passes"
        self.budget.tokens -= len(speculated)
        self.counts[request.request_id] += len(speculated)
        self.drafts[request.request_id] = speculated
        request.num_drafted = len(speculated)
        self.is_awaited = True
