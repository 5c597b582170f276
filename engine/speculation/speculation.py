"""Speculative decoding: choice of the requests that get a draft in the next step, and of its length.

A step with a draft yields several tokens of its request. However, the step takes longer, and the next one cannot be
scheduled before its result is known. Drafts must therefore yield more tokens than all running requests would have
produced in the extra time. With one stream drafts cost hardly anything; with many, their rows cost as much as they
yield.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from weakref import WeakKeyDictionary

from engine.block_tables.block_manager import BlockManager
from engine.request.request import Request
from engine.request.scheduler_output import ModelRunnerOutput, SchedulerOutput
from engine.speculation.draft_cost import NOTHING, DraftCost, PlainStep, Prices, Promise, promise_of
from engine.speculation.guess import DraftSource, Proposer
from engine.speculation.model_drafts import ModelDrafts


def verify(draft: Sequence[int], sampled: Sequence[int]) -> tuple[int, ...]:
    """Return the next tokens of a request: the accepted part of `draft` and the sampled token after it.

    Every position has its own random number. So the first sampled token that differs from the draft is the one that
    would have come without a draft; tokens sampled after it follow a rejected one and are discarded.

    sampled: tokens sampled after the last known token and after each token of `draft`, given the draft before it. There
    is one more than in `draft`.
    """
    assert len(sampled) == len(draft) + 1, "a row of a draft was not sampled"
    stand = next((i for i, token in enumerate(draft) if token != sampled[i]), len(draft))
    return tuple(sampled[: stand + 1])


LONGEST_DRAFT: Final = 11
"""Tokens of the longest draft. With the token before it, it fills the largest tile of the CPU kernels."""
PROMPTS_PART: Final = 8
"""While prompts are computed, drafts take at most one row for every `PROMPTS_PART` prompt tokens that fit in the step.

The first tokens of a draft are the likeliest, and every row delays the first token of another answer.
"""
MARGIN: Final = 1.5
"""Factor by which the expected gain of a draft must exceed its cost, since both are estimates."""

NEAR: Final = 1.0
"""Gain, in tokens beyond their cost, that a request's drafts must promise for the next step to make a single pass.

Several passes per step save time, so they are given up only for a larger gain.
"""
HORIZON: Final = 128
"""Tokens of an answer whose gain must exceed the cost of what the draft model has to read before it drafts."""


@dataclass(frozen=True, slots=True)
class DraftPlan:
    """The drafts of the next step."""

    drafts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Draft tokens by request id."""
    to_draft: Mapping[str, int] = field(default_factory=dict)
    """Tokens that the draft model is to draft, by the ids of other requests."""
    is_near: bool = False
    """Whether a draft is likely in the step after the next, so that the next one should make a single pass."""
    is_awaited: bool = False
    """Whether the step after the next should wait for the tokens of the next one, for the draft model to read them."""

    @property
    def num_rows(self) -> int:
        """Rows of all drafts."""
        return sum(map(len, self.drafts.values())) + sum(self.to_draft.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """The draft of a request in the next step: `token_ids`, `num_to_draft` tokens of the draft model, or none.

    has_guess: whether there was a guess, or could have been one by the draft model, worth a draft or not.
    is_near: whether the request's text promises a draft for the step after the next.
    of_model: gain of a draft of the model in tokens if that is the best one, now or once no step is in flight.
    gain: expected gain of the draft in tokens.
    """

    request: Request
    source: DraftSource
    has_guess: bool
    is_near: bool
    of_model: float
    token_ids: tuple[int, ...] = ()
    num_to_draft: int = 0
    gain: float = 0.0


class Speculation:
    """Planner of drafts, which learns their cost.

    drafted, accepted: tokens since the start, by the source of their draft.
    """

    def __init__(
        self, proposer: Proposer, blocks: BlockManager, *, most_rows: int, model: ModelDrafts | None = None
    ) -> None:
        """Make a planner. most_rows: rows that one step may hold. model: None without a draft model."""
        self.drafted: Counter[DraftSource] = Counter()
        self.accepted: Counter[DraftSource] = Counter()
        self._proposer = proposer
        self._model = model
        self._blocks = blocks
        self._most_rows = most_rows
        self._cost = DraftCost()
        self._sources: WeakKeyDictionary[Request, DraftSource] = WeakKeyDictionary()
        self._drafted: Sequence[str] = ()
        self._ended = 0.0

    def plan(
        self,
        running: Sequence[Request],
        plain: PlainStep | None,
        prompt_rows: int | None = None,
        *,
        is_idle: bool = False,
    ) -> DraftPlan:
        """Plan the drafts of the next step.

        plain: the step without drafts; None, if its time is not known yet, gives no drafts.
        prompt_rows: prompt tokens that fit in the step; None if there are no prompts.
        is_idle: no step is in flight, so that the draft model could read every token.
        """
        open_to_drafts = [request for request in running if may_be_drafted(request)]
        if not open_to_drafts or plain is None:
            return DraftPlan()
        prices = self._prices(plain, len(running), len(open_to_drafts))
        if prices.row >= 1:
            # Not even a certain guess is worth its row, so no proposals are needed.
            self._cost.fade(plain)
            return DraftPlan()
        longest = self._longest(len(running), len(open_to_drafts), prompt_rows)
        choices = [self._choose(request, longest, prices, is_idle=is_idle) for request in open_to_drafts]
        of_model = sum(choice.of_model for choice in choices)
        is_awaited = not is_idle and of_model > prices.wait
        is_near = is_awaited or any(choice.is_near for choice in choices)
        drafts = {choice.request.request_id: choice.token_ids for choice in choices if choice.token_ids}
        to_draft = {choice.request.request_id: choice.num_to_draft for choice in choices if choice.num_to_draft}
        if sum(choice.gain for choice in choices) <= prices.wait:
            if any(choice.has_guess for choice in choices):
                self._cost.fade(plain)
            return DraftPlan(is_near=is_near, is_awaited=is_awaited)
        if not self._have_room(running, drafts, to_draft):
            return DraftPlan(is_near=is_near, is_awaited=is_awaited)
        for choice in choices:
            self._sources[choice.request] = choice.source
        return DraftPlan(drafts, to_draft, is_near, is_awaited)

    def _choose(self, request: Request, longest: int, prices: Prices, *, is_idle: bool) -> _Choice:
        """Choose the draft of a request that promises most, if one is worth its cost."""
        behind, most = request.samples_in_flight, min(longest, request.num_wanted_tokens - 1)
        guess = self._proposer.propose(request, behind, most)
        own = promise_of(guess.chance, behind, len(guess.token_ids), prices.row)
        near = promise_of(guess.chance, 0, most, prices.row).tokens > prices.draft + prices.wait + NEAR
        by_model = self._by_model(request, most, prices)
        is_modelled = by_model.tokens > max(own.tokens, prices.draft)
        choice = _Choice(
            request=request,
            source=guess.source,
            has_guess=bool(guess.token_ids) or self._model is not None,
            is_near=near,
            of_model=by_model.tokens - prices.draft if is_modelled else 0.0,
        )
        if is_modelled and is_idle:
            return replace(choice, source="model", num_to_draft=by_model.length, gain=choice.of_model)
        if own.tokens > prices.draft:
            gain = own.tokens - prices.draft
            return replace(choice, token_ids=tuple(guess.token_ids[: own.length]), gain=gain)
        return choice

    def _prices(self, plain: PlainStep, num_running: int, num_open: int) -> Prices:
        # Time that one more token is worth: a plain step yields a token for each running request.
        token_seconds = plain.seconds / (MARGIN * num_running)
        cost = self._cost
        row = cost.row_seconds(plain)
        # Each pass of the draft model makes a row of every draft.
        drafting = cost.model_seconds(plain, 1, num_open) / num_open
        wait = cost.wait_seconds(plain) / token_seconds
        return Prices(
            draft=cost.draft_seconds() / token_seconds,
            row=row / token_seconds,
            wait=wait,
            wait_share=wait / num_open,
            modelled_row=(row + drafting) / token_seconds,
            read=cost.model_seconds(plain, 0, 1) / token_seconds,
        )

    def _longest(self, num_running: int, num_open: int, prompt_rows: int | None) -> int:
        # Half of the remaining rows of the step are left to requests that start in it.
        most_rows = (self._most_rows - num_running) // 2
        if prompt_rows is not None:
            most_rows = min(most_rows, prompt_rows // PROMPTS_PART)
        return min(LONGEST_DRAFT, most_rows // num_open)

    def _by_model(self, request: Request, most: int, prices: Prices) -> Promise:
        """Return what a draft by the draft model promises; nothing if it is not worth what the model must read."""
        if self._model is None:
            return NOTHING
        promise = promise_of(self._model.chance(request), 0, most, prices.modelled_row)
        gain = promise.tokens - prices.draft - prices.wait_share
        num_steps = min(request.num_wanted_tokens, HORIZON) / (promise.length + 1)
        if gain * num_steps <= self._model.num_unread(request) * prices.read:
            self._model.fade(request)
            return NOTHING
        return promise

    def _have_room(
        self, running: Sequence[Request], drafts: Mapping[str, tuple[int, ...]], to_draft: Mapping[str, int]
    ) -> bool:
        """Return whether there are free blocks for the drafts, so that no request is preempted for them."""
        missing = 0
        for request in running:
            tokens = request.num_computed_tokens + max(1, request.num_pending_tokens)
            tokens += len(drafts.get(request.request_id, ())) + to_draft.get(request.request_id, 0)
            missing += max(0, self._blocks.num_blocks_for(tokens) - len(request.blocks))
        return missing <= self._blocks.pool.num_free

    def on_computed(self, step: SchedulerOutput, result: ModelRunnerOutput, plain: PlainStep | None) -> None:
        """Learn from a completed step. plain: a step of its requests without drafts; None if its time is unknown."""
        work = result.draft_work
        if any(request_id in step.num_scheduled_tokens for request_id in self._drafted):
            began = result.started - (work.seconds if work is not None else 0.0)
            self._cost.note_wait(began - self._ended)
        self._drafted, self._ended = (*step.drafts, *step.to_draft), result.ended
        if step.to_draft and work is None:
            self._model = None
        lengths = [len(draft) for draft in step.drafts.values()]
        lengths += work.num_drafted.values() if work is not None else ()
        rows = sum(lengths)
        if plain is None:
            return
        if work is not None:
            self._cost.note_model(work.passes, work.rows, work.seconds, plain)
        if rows and step.total_tokens == step.num_drafted + len(step.num_scheduled_tokens):
            self._cost.note_step(sum(length > 0 for length in lengths), rows, result.seconds, plain)

    def note(self, request: Request, num_drafted: int, num_accepted: int) -> None:
        """Count the tokens of the newest draft of `request`, and the accepted ones among them."""
        source = self._sources[request]
        self.drafted[source] += num_drafted
        self.accepted[source] += num_accepted
        if source == "model" and self._model is not None:
            self._model.learn(request, num_drafted, num_accepted)


def may_be_drafted(request: Request) -> bool:
    """Return whether `request` may have a draft: it decodes, wants more than one token, and samples rows independently.

    Rows are not independent with grammar masks, bad phrases or penalties, which depend on the tokens before.
    Logprobs are reported for one row only.
    """
    sampling = request.sampling
    chooses_by_row = not (request.needs_known_tokens or sampling.has_penalties or sampling.logprobs is not None)
    decodes = request.num_pending_tokens == 1 and request.has_begun and not request.num_drafted
    return chooses_by_row and decodes and request.num_wanted_tokens > 1
