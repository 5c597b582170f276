"""A step that is being scheduled, and what is left of its limits."""

from collections import deque
from dataclasses import dataclass, field

from engine.request.request import Request
from engine.request.scheduler_output import CachedRequestData, NewRequestData


@dataclass(slots=True)
class SchedulingBudget:
    """Remaining capacity of the step that is being scheduled."""

    tokens: int
    sequences: int
    prompt_tokens: int
    """Number of `tokens` that may belong to prompts."""

    @property
    def exhausted(self) -> bool:
        """Whether the step is full."""
        return self.tokens <= 0 or self.sequences <= 0

    def take(self, num_tokens: int) -> None:
        """Reserve `num_tokens` for one more sequence. A single token is a decode and costs no prompt tokens."""
        assert 0 < num_tokens <= self.tokens
        assert self.sequences > 0
        self.tokens -= num_tokens
        if num_tokens > 1:
            self.prompt_tokens = max(0, self.prompt_tokens - num_tokens)
        self.sequences -= 1


@dataclass(slots=True, kw_only=True)
class StepDraft:
    """A SchedulerOutput in the making. Fields that are not described here mean the same as there."""

    now: float
    """Start of scheduling, in seconds on the scheduler's clock."""
    budget: SchedulingBudget
    passes: int = 1
    step_id: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    """`num_scheduled_tokens` of the step."""
    new: list[NewRequestData] = field(default_factory=list)
    cached: list[CachedRequestData] = field(default_factory=list)
    masks: dict[str, bytes] = field(default_factory=dict)
    is_awaited: bool = False
    drafts: dict[str, tuple[int, ...]] = field(default_factory=dict)
    to_draft: dict[str, int] = field(default_factory=dict)

    def add_new(self, request: Request, count: int) -> None:
        """Schedule `count` tokens of a request that the worker does not know and whose blocks have room for them."""
        assert self.passes == 1, "a step of several passes cannot contain a prompt"
        self.new.append(
            NewRequestData(
                request.request_id,
                request.token_ids(0, request.num_tokens),
                request.num_prompt_tokens,
                tuple([block.block_id for block in request.blocks]),
                request.num_computed_tokens,
                request.sampling,
                adapter=request.adapter,
            )
        )
        request.known_to_worker = True
        request.unsent_token_ids.clear()
        self._take(request, count)

    def add_cached(
        self,
        request: Request,
        count: int,
        num_blocks_before: int,
        speculated: tuple[int, ...] = (),
        num_to_draft: int = 0,
    ) -> None:
        """Schedule `count` tokens of a request that the worker knows with its first `num_blocks_before` blocks.

        speculated: draft tokens to compute in addition to `count`.
        num_to_draft: tokens that the worker drafts and computes in addition.
        """
        grown = len(request.blocks) > num_blocks_before
        new_ids = tuple([block.block_id for block in request.blocks[num_blocks_before:]]) if grown else ()
        unsent = tuple(request.unsent_token_ids)
        self.cached.append(CachedRequestData(request.request_id, new_ids, request.num_computed_tokens, unsent))
        request.unsent_token_ids.clear()
        self._take(request, count)
        if speculated or num_to_draft:
            self._speculate(request, speculated, num_to_draft)

    def _take(self, request: Request, count: int) -> None:
        self.budget.take(count)
        self.counts[request.request_id] = count
        request.advance(count + self.passes - 1)
        request.steps_in_flight += 1
        if request.started is None:
            request.started = self.now
        if request.num_pending_tokens + self.passes == 1:
            if request.needs_known_tokens:
                assert self.passes == 1, "a step of several passes cannot contain a request that needs known tokens"
                assert not request.samples_in_flight, "a token would be sampled before its predecessor is known"
                self.is_awaited = True
            if request.mask is not None and request.is_masked:
                self.masks[request.request_id] = request.mask.words()
            request.samples_in_flight += self.passes
            request.sampled_by = self.step_id

    def _speculate(self, request: Request, speculated: tuple[int, ...], num_to_draft: int) -> None:
        assert self.passes == 1, "a step of several passes cannot contain a draft"
        if num_to_draft:
            self.to_draft[request.request_id] = num_to_draft
        else:
            self.counts[request.request_id] += len(speculated)
            self.drafts[request.request_id] = speculated
        request.num_drafted = len(speculated) + num_to_draft
        self.budget.tokens -= request.num_drafted
        self.is_awaited = True


class Batches:
    """Steps in flight, in order.

    A decode needs the token that a step in flight samples. With one batch for all, every stage but one would wait for
    it. A step therefore takes only a part of the decodes, and the other steps in flight take the others. Chunks of a
    prompt need no tokens, so consecutive steps may have chunks of the same prompt.

    num_stages: number of steps that are computed at once, each on one stage.
    """

    def __init__(self, num_stages: int) -> None:
        self.num_stages = num_stages
        self._in_flight: deque[int] = deque()
        self._awaited: int | None = None

    @property
    def num_in_flight(self) -> int:
        """Number of steps whose result has not arrived."""
        return len(self._in_flight)

    def open(self, *, ahead: bool) -> None:
        """Begin to schedule a step. ahead: whether the oldest step in flight will end before the new one begins."""
        self._awaited = self._in_flight[0] if ahead and self._in_flight else None

    def begin(self, step_id: int) -> None:
        """Note that a step was scheduled."""
        self._in_flight.append(step_id)

    def end(self) -> None:
        """Note that the oldest step has ended, or will never end."""
        self._in_flight.popleft()

    def is_free(self, request: Request) -> bool:
        """Return whether the step that is being scheduled may have `request`: no later step samples its last token."""
        return not request.samples_in_flight or self.num_stages == 1 or request.sampled_by == self._awaited

    def share(self, num_decodes: int) -> int:
        """Return how many of all `num_decodes` decodes one step takes, so that each stage has as many."""
        return -(-num_decodes // self.num_stages)
