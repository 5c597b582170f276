"""Speculative decoding: choice of the requests that get a draft in the next step, and of its length.

A step with a draft yields several tokens of its request. However, the step takes longer, and the next one cannot be
scheduled before its result is known. Drafts must therefore yield more tokens than all running requests would have
produced in the extra time. With one stream drafts cost hardly anything; with many, their rows cost as much as they
yield.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakKeyDictionary

from engine.block_tables.block_manager import BlockManager
from engine.request.request import Request
from engine.request.scheduler_output import ModelRunnerOutput, SchedulerOutput
from engine.speculation.draft_cost import DraftCost, PlainStep
from engine.speculation.guess import DraftSource, Proposer


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


@dataclass(frozen=True, slots=True)
class DraftPlan:
    """The drafts of the next step."""

    drafts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Draft tokens by request id."""
    is_near: bool = False
    """Whether a draft is likely in the step after the next, so that the next one should make a single pass."""


@dataclass(frozen=True, slots=True)
class _Promise:
    """The expected gain of a draft."""

    length: int
    """Tokens of the draft."""
    tokens: float
    """Expected number of accepted tokens, less the cost of the draft's rows in tokens."""


class Speculation:
    """Planner of drafts, which learns their cost.

    drafted, accepted: tokens since the start, by the source of their draft.
    """

    def __init__(self, proposer: Proposer, blocks: BlockManager, *, most_rows: int) -> None:
        """Make a planner. most_rows: rows that one step may hold."""
        self.drafted: Counter[DraftSource] = Counter()
        self.accepted: Counter[DraftSource] = Counter()
        self._proposer = proposer
        self._blocks = blocks
        self._most_rows = most_rows
        self._cost = DraftCost()
        self._sources: WeakKeyDictionary[Request, DraftSource] = WeakKeyDictionary()
        self._drafted: Sequence[str] = ()
        self._ended = 0.0

    def plan(self, running: Sequence[Request], plain: PlainStep | None, prompt_rows: int | None = None) -> DraftPlan:
        """Plan the drafts of the next step.

        plain: the step without drafts; None, if its time is not known yet, gives no drafts.
        prompt_rows: prompt tokens that fit in the step; None if there are no prompts.
        """
        open_to_drafts = [request for request in running if may_be_drafted(request)]
        if not open_to_drafts or plain is None:
            return DraftPlan()
        # Time that one more token is worth: a plain step yields a token for each running request.
        token_seconds = plain.seconds / (MARGIN * len(running))
        own, row = self._cost.draft_seconds() / token_seconds, self._cost.row_seconds(plain) / token_seconds
        wait = self._cost.wait_seconds(plain) / token_seconds
        if row >= 1:
            # Not even a certain guess is worth its row, so no proposals are needed.
            self._cost.fade(plain)
            return DraftPlan()
        drafts: dict[str, tuple[int, ...]] = {}
        promised, is_near, has_guess = 0.0, False, False
        # Half of the remaining rows of the step are left to requests that start in it.
        most_rows = (self._most_rows - len(running)) // 2
        if prompt_rows is not None:
            most_rows = min(most_rows, prompt_rows // PROMPTS_PART)
        longest = min(LONGEST_DRAFT, most_rows // len(open_to_drafts))
        for request in open_to_drafts:
            behind, most = request.samples_in_flight, min(longest, request.num_wanted_tokens - 1)
            guess = self._proposer.propose(request, behind, most)
            has_guess = has_guess or bool(guess.token_ids)
            is_near = is_near or _promise(guess.chance, 0, most, row).tokens > own + wait + NEAR
            promise = _promise(guess.chance, behind, len(guess.token_ids), row)
            if promise.tokens > own:
                drafts[request.request_id] = tuple(guess.token_ids[: promise.length])
                self._sources[request] = guess.source
                promised += promise.tokens - own
        if promised <= wait:
            drafts = {}
            if has_guess:
                self._cost.fade(plain)
        elif not self._have_room(running, drafts):
            drafts = {}
        return DraftPlan(drafts, is_near)

    def _have_room(self, running: Sequence[Request], drafts: Mapping[str, tuple[int, ...]]) -> bool:
        """Return whether there are free blocks for the drafts, so that no request is preempted for them."""
        missing = 0
        for request in running:
            tokens = request.num_computed_tokens + max(1, request.num_pending_tokens)
            tokens += len(drafts.get(request.request_id, ()))
            missing += max(0, self._blocks.num_blocks_for(tokens) - len(request.blocks))
        return missing <= self._blocks.pool.num_free

    def on_computed(self, step: SchedulerOutput, result: ModelRunnerOutput, plain: PlainStep | None) -> None:
        """Learn from a completed step. plain: a step of its requests without drafts; None if its time is unknown."""
        if any(request_id in step.num_scheduled_tokens for request_id in self._drafted):
            self._cost.note_wait(result.started - self._ended)
        self._drafted, self._ended = tuple(step.drafts), result.ended
        rows = sum(map(len, step.drafts.values()))
        if rows and plain is not None and step.total_tokens == rows + len(step.num_scheduled_tokens):
            self._cost.note_step(len(step.drafts), rows, result.seconds, plain)

    def note(self, request: Request, num_drafted: int, num_accepted: int) -> None:
        """Count the tokens of the newest draft of `request`, and the accepted ones among them."""
        source = self._sources[request]
        self.drafted[source] += num_drafted
        self.accepted[source] += num_accepted


def may_be_drafted(request: Request) -> bool:
    """Return whether `request` may have a draft: it decodes, wants more than one token, and samples rows independently.

    Rows are not independent with grammar masks, bad phrases or penalties, which depend on the tokens before.
    Logprobs are reported for one row only.
    """
    sampling = request.sampling
    chooses_by_row = not (request.needs_known_tokens or sampling.has_penalties or sampling.logprobs is not None)
    decodes = request.num_pending_tokens == 1 and request.has_begun and not request.num_drafted
    return chooses_by_row and decodes and request.num_wanted_tokens > 1


def _promise(chance: float, behind: int, most: int, row: float) -> _Promise:
    """Return the best length of a draft, at most `most`: tokens are drafted as long as each is worth its row.

    chance: probability that a token is right if those before it are. behind: tokens before the draft that must be right
    too. row: cost of a row, in tokens.
    """
    stands, length, tokens = chance ** (behind + 1), 0, 0.0
    while length < most and stands > row:
        tokens += stands - row
        length += 1
        stands *= chance
    return _Promise(length, tokens)
