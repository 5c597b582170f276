"""Which requests get a draft in the next step, and how long it is.

A step that computes a draft yields several tokens of its request, but takes longer, and the step behind it cannot be
put together before its result is known. So drafts must be worth more tokens than all who run would have got in the time
that they take. With one stream hardly anything is lost; with many, rows cost as much as they bring.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from engine.kv.block_manager import BlockManager
from engine.request import Request
from engine.scheduling.output import ModelRunnerOutput, SchedulerOutput
from engine.speculation.draft_cost import DraftCost
from engine.speculation.proposer import Proposer

LONGEST_DRAFT: Final = 11
"""With the token before it, the rows of the largest tile of the CPU's kernels."""
MARGIN: Final = 1.5
"""How much more than it costs a draft must promise: both are guessed."""

NEAR: Final = 1.0
"""Tokens that the drafts of a request must promise beyond their cost before it makes single passes for want of one:
several passes a step save a tenth of the time."""


@dataclass(frozen=True, slots=True)
class DraftPlan:
    """drafts: of the next step, by request. is_near: whether somebody's text may be guessed in the step behind it, for
    which his tokens should be known soon."""

    drafts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    is_near: bool = False


@dataclass(frozen=True, slots=True)
class _Promise:
    """Of a draft. tokens: that should stand, less what its rows cost."""

    length: int
    tokens: float


class Speculation:
    """Drafts of one engine, and what became of them. num_drafted, num_accepted: tokens."""

    def __init__(self, proposer: Proposer, blocks: BlockManager, *, most_rows: int) -> None:
        """most_rows: of one step."""
        self.num_drafted = 0
        self.num_accepted = 0
        self._proposer = proposer
        self._blocks = blocks
        self._most_rows = most_rows
        self._cost = DraftCost()
        self._drafted: Sequence[str] = ()
        self._ended = 0.0

    def plan(self, running: Sequence[Request], plain_seconds: float | None) -> DraftPlan:
        """For the next step of those who run. plain_seconds: what it should take without drafts; None: nobody knows."""
        open_to_drafts = [request for request in running if may_be_drafted(request)]
        if not open_to_drafts or not plain_seconds:
            return DraftPlan()
        # What a token is worth, beside what all get in the meantime.
        token_seconds = plain_seconds / (MARGIN * len(running))
        row = self._cost.row_seconds(plain_seconds) / token_seconds
        wait = self._cost.wait_seconds(plain_seconds) / token_seconds
        if row >= 1:
            # Not even a sure guess is worth its row, so nobody need look for one.
            self._cost.fade(plain_seconds)
            return DraftPlan()
        drafts: dict[str, tuple[int, ...]] = {}
        promised, is_near, has_guess = 0.0, False, False
        # Prompts keep half of what is left of a step.
        longest = min(LONGEST_DRAFT, (self._most_rows - len(running)) // (2 * len(open_to_drafts)))
        for request in open_to_drafts:
            behind, most = request.samples_in_flight, min(longest, request.num_wanted_tokens - 1)
            guess = self._proposer.propose(request, behind, most)
            chance = self._proposer.chance(request)
            has_guess = has_guess or bool(guess)
            is_near = is_near or _promise(chance, 0, most, row).tokens > wait + NEAR
            promise = _promise(chance, behind, len(guess), row)
            if promise.length:
                drafts[request.request_id] = tuple(guess[: promise.length])
                promised += promise.tokens
        if promised <= wait:
            drafts = {}
            if has_guess:
                self._cost.fade(plain_seconds)
        elif not self._have_room(running, drafts):
            drafts = {}
        return DraftPlan(drafts, is_near)

    def _have_room(self, running: Sequence[Request], drafts: Mapping[str, tuple[int, ...]]) -> bool:
        """Nobody is stopped for the sake of a draft."""
        missing = 0
        for request in running:
            tokens = request.num_computed_tokens + max(1, request.num_pending_tokens)
            tokens += len(drafts.get(request.request_id, ()))
            missing += max(0, self._blocks.num_blocks_for(tokens) - len(request.blocks))
        return missing <= self._blocks.pool.num_free

    def computed(self, step: SchedulerOutput, result: ModelRunnerOutput, plain_seconds: float | None) -> None:
        """A step has ended. plain_seconds: what one of its requests without drafts should take."""
        if any(request_id in step.num_scheduled_tokens for request_id in self._drafted):
            self._cost.note_wait(result.started - self._ended)
        self._drafted, self._ended = tuple(step.drafts), result.ended
        rows = sum(map(len, step.drafts.values()))
        if rows and plain_seconds is not None and step.total_tokens == rows + len(step.num_scheduled_tokens):
            self._cost.note_rows(rows, result.seconds - plain_seconds)

    def note(self, draft: Sequence[int], num_accepted: int) -> None:
        """So many of a draft stand."""
        self.num_drafted += len(draft)
        self.num_accepted += num_accepted


def may_be_drafted(request: Request) -> bool:
    """Whether every row of a draft would choose as if it stood alone, and one fits into its answer.

    Masks and phrases need to know the tokens before; penalties count them; logprobs are told of one row.
    """
    sampling = request.sampling
    chooses_by_row = not (request.needs_known_tokens or sampling.has_penalties or sampling.logprobs is not None)
    decodes = request.num_pending_tokens == 1 and request.num_produced_tokens > 0 and not request.num_drafted
    return chooses_by_row and decodes and request.num_wanted_tokens > 1


def _promise(chance: float, behind: int, most: int, row: float) -> _Promise:
    """Tokens are drafted as long as each is worth its row. behind: tokens before the draft that must be right too."""
    stands, length, tokens = chance ** (behind + 1), 0, 0.0
    while length < most and stands > row:
        tokens += stands - row
        length += 1
        stands *= chance
    return _Promise(length, tokens)
