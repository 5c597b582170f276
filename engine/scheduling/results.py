"""Effects of a step's results on its requests: tokens, confirmed blocks and ends."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.api.outputs import FinishReason, TokenLogprobs
from engine.block_tables.block_manager import BlockManager
from engine.offload.interface import TierConnector
from engine.request.request import Request, RequestStatus
from engine.request.scheduler_output import ModelRunnerOutput, SchedulerOutput
from engine.scheduling.request_states import RequestStates
from engine.speculation.speculation import Speculation


@dataclass(frozen=True, slots=True)
class TokenUpdate:
    """A change that a step made to one request: a token, the finish, or both."""

    request: Request
    token_id: int | None
    finish_reason: FinishReason | None
    logprobs: TokenLogprobs | None = None
    embedding: bytes | None = None
    """As in `RequestOutput`, with the finish."""


@dataclass(slots=True)
class _Taken:
    """The result of a step for one request, while it is processed."""

    request: Request
    count: int
    """Tokens scheduled in the step, without drafts."""
    token_ids: tuple[int, ...]
    """Sampled tokens."""
    updates: list[TokenUpdate] = field(default_factory=list)
    reason: FinishReason | None = None
    """Reason to finish; None if the request continues."""
    woke_mask: bool = False
    """Whether the last token woke the request's mask, so that no draw behind it counts."""


class StepResults:
    """Application of results to requests.

    speculation: None where no draft is computed.
    num_prefilled: prompt tokens computed since the start, counting tokens recomputed after a preemption again.
    """

    def __init__(
        self, states: RequestStates, blocks: BlockManager, connector: TierConnector, speculation: Speculation | None
    ) -> None:
        self.num_prefilled = 0
        self._states = states
        self._blocks = blocks
        self._connector = connector
        self._speculation = speculation

    def take(self, output: SchedulerOutput, result: ModelRunnerOutput) -> list[TokenUpdate]:
        """Apply the result of one step and return the changes. Call in the order in which steps were scheduled."""
        taken: list[_Taken] = []
        for request_id, count in output.num_scheduled_tokens.items():
            request = self._states.get(request_id)
            if request is not None and output.step_id < request.ignored_before:
                request.steps_in_flight -= 1
            elif request is not None:
                if chunk := result.prompt_logprobs.get(request_id):
                    request.prompt_logprobs[chunk.start :] = chunk.tokens
                token_ids = result.sampled_token_ids.get(request_id, ())
                if speculated := output.drafts.get(request_id):
                    self._take_speculated(request, len(speculated), token_ids)
                    count -= len(speculated)
                elif request_id in output.to_draft:
                    work = result.draft_work
                    self._take_speculated(request, work.num_drafted[request_id] if work else 0, token_ids)
                taken.append(_Taken(request, count, token_ids))
                _append_tokens(taken[-1], token_ids, result.logprobs.get(request_id, ()))
                if (embedding := result.embeddings.get(request_id)) is not None:
                    taken[-1].reason = "stop"
                    taken[-1].updates.append(TokenUpdate(request, None, "stop", embedding=embedding))
        # Settling waits for masks. All of them were begun above, so they are computed in parallel.
        return [update for each in taken for update in self._settle(each)]

    def _settle(self, taken: _Taken) -> list[TokenUpdate]:
        """Append tokens that the mask forces, publish full blocks, and finish the request if it has reached its end."""
        request, count, token_ids, updates = taken.request, taken.count, taken.token_ids, taken.updates
        request.steps_in_flight -= 1
        request.samples_in_flight -= len(token_ids)
        num_kept = len(updates)
        if taken.woke_mask and taken.reason is None:
            self._draw_again(request, len(token_ids) - num_kept)
        if token_ids and taken.reason is None:
            _append_tokens(taken, request.forced_tokens())
        if request.status is RequestStatus.RUNNING:
            self.num_prefilled += max(0, min(count, request.num_prompt_tokens - request.num_confirmed_tokens))
            request.confirm(count + max(0, num_kept - 1))
            published = self._blocks.publish_full(request)
            self._connector.offer(request, published)
        if taken.reason is not None:
            self._states.finish(request.request_id, taken.reason)
        return updates

    def _draw_again(self, request: Request, num_dropped: int) -> None:
        """Have the worker forget draws made while the mask was asleep, in this step and in those in flight."""
        if num_dropped or request.samples_in_flight:
            request.draw_again()
            self._states.forget_in_worker(request)

    def _take_speculated(self, request: Request, num_drafted: int, token_ids: tuple[int, ...]) -> None:
        """Count the accepted tokens of a draft as computed. The next step overwrites the KV of the rejected ones."""
        assert self._speculation is not None
        accepted = len(token_ids) - 1
        self._speculation.note(request, num_drafted, accepted)
        request.num_drafted = 0
        # One sample was scheduled; `_settle` subtracts every token that came of it.
        request.samples_in_flight += accepted
        if request.status is RequestStatus.RUNNING:
            request.advance(accepted)
            self._states.queue.charge(request, accepted)


def _append_tokens(taken: _Taken, token_ids: Sequence[int], logprobs: tuple[TokenLogprobs, ...] = ()) -> None:
    """Append tokens until one finishes the request, or else begin to compute the mask of the next token."""
    request = taken.request
    if token_ids and request.sampling.max_tokens == 0:
        # The prompt is computed, and its one sample is dropped.
        taken.reason = "length"
        taken.updates.append(TokenUpdate(request, None, taken.reason))
        return
    for index, token_id in enumerate(token_ids):
        was_masked = request.is_masked
        request.append_token(token_id)
        taken.woke_mask = request.is_masked and not was_masked
        taken.reason = reason_to_end(request, token_id)
        logprob = logprobs[index] if index < len(logprobs) else None
        taken.updates.append(TokenUpdate(request, token_id, taken.reason, logprob))
        if taken.reason is not None:
            # Discard tokens that later passes sampled after the last one.
            return
        if taken.woke_mask:
            break
    if request.mask is not None:
        request.mask.begin()


def reason_to_end(request: Request, token_id: int) -> FinishReason | None:
    """Return why `request` finishes with `token_id`, its newest output token; None if it continues.

    Stop strings are matched on text, in the output processor.
    """
    sampling, produced = request.sampling, len(request.output_token_ids)
    if token_id in sampling.ending_ids and produced > sampling.min_tokens:
        return "stop"
    if sampling.max_tokens is not None and produced >= sampling.max_tokens:
        return "length"
    if request.moves_at is not None and produced >= request.moves_at:
        return "moved"
    return None
