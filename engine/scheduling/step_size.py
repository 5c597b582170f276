"""Size of a step: the forward passes of decodes, and the tokens of prompts alongside streaming answers."""

from collections.abc import Iterable
from dataclasses import dataclass

from engine.block_tables.block_manager import BlockManager
from engine.request.request import Request
from engine.scheduling.step_cost import StepCost


@dataclass(frozen=True, slots=True)
class SchedulerLimits:
    """Limits of a step and of the batch."""

    max_num_seqs: int
    """Requests that may hold blocks at once."""
    max_num_batched_tokens: int
    """Rows of one step."""
    itl_target: float = 0.0
    """Seconds that a step with running streams may take; 0 means the default of `prompt_tokens_alongside`."""
    decode_passes: int = 1
    """Most forward passes of one step, made while no request waits."""
    num_stages: int = 1
    """Stages of the pipeline, which compute as many steps at once."""


LONGEST_STEP_SECONDS = 0.05
"""Longest step with several passes where no target for the time between tokens is set.

At 20 pieces of text a second a stream looks steady, and a request that arrives during the step waits no longer.
"""

FIRST_TOKENS = 4
"""Tokens at the start of an answer that are decoded one per step.

Text may begin only with the second or third token, and the user is waiting for it.
"""


def passes_within(most: int, pass_seconds: float | None, longest_seconds: float) -> int:
    """Return how many passes fit in `longest_seconds`, at least 1 and at most `most`.

    pass_seconds: seconds of one pass; None if not known yet, which gives 1.
    """
    if pass_seconds is None:
        return 1
    return max(1, min(most, int(longest_seconds / pass_seconds))) if pass_seconds > 0 else most


def passes_of_step(most: int, running: Iterable[Request], blocks: BlockManager) -> int:
    """Return how many passes the next step may make with the requests `running`, at most `most`.

    The result is 1 unless every request only decodes, has produced `FIRST_TOKENS` tokens, still wants more than one
    token, finds room for all of them, and can be sampled before the scheduler knows the tokens before it.

    Call only while no request waits, since a request that arrives during the step waits for all passes.
    """
    passes, missing = most, 0
    for request in running:
        passes = min(passes, request.num_wanted_tokens)
        # A request that the workers do not know is sent with its prompt, even if only its last token is to be computed.
        if request.needs_known_tokens or not request.known_to_worker:
            return 1
        if request.num_pending_tokens != 1 or request.num_produced_tokens < FIRST_TOKENS or passes <= 1:
            return 1
        missing += blocks.num_blocks_for(request.num_computed_tokens + passes) - len(request.blocks)
    return passes if missing <= blocks.pool.num_free else 1


SMALLEST_CHUNK = 16
LONGEST_REPORTED_CHUNK = 64
MOST_REPORTED_TOKENS = 2 * LONGEST_REPORTED_CHUNK
"""Prompt tokens per step whose log probabilities are reported: each has a row of logits, up to a megabyte."""
AUTO_STEP_SECONDS = 0.05
"""Default time of a step with running streams.

At 20 pieces of text a second a reader does not notice the steps. A longer step would only delay arriving requests.
"""
RESUMED_STEP_SECONDS = 0.2
"""The same while the context of an answer that has begun is computed again.

The reader of that answer waits for a second or more. Five pieces of text a second still let the others read on.
"""
AUTO_STRETCH = 2.0


def prompt_tokens_alongside(
    cost: StepCost, decodes: int, target_seconds: float, room: int, context: int = 0, *, resumes: bool = False
) -> int:
    """Return how many prompt tokens fit in a step of `target_seconds` alongside `decodes` decodes.

    The result is at most `room`, and at least `SMALLEST_CHUNK` where `room` allows, so that prompts make progress.
    Without decodes, or until the costs are known, return `room`.

    context: tokens before those of the prompts, on average.
    target_seconds: 0 means `AUTO_STEP_SECONDS`, or twice the time of a step of decodes alone where that is longer.
    resumes: whether an answer that has begun waits for these tokens, which permits `RESUMED_STEP_SECONDS`.
    """
    alone = cost.decode_seconds(decodes)
    if not decodes or alone is None:
        return room
    usual = RESUMED_STEP_SECONDS if resumes else AUTO_STEP_SECONDS
    target = target_seconds or max(usual, AUTO_STRETCH * alone)
    within = cost.prompt_tokens_within(target - alone, context)
    return room if within is None else min(room, max(SMALLEST_CHUNK, within))


def reports_prompt(request: Request) -> bool:
    """Return whether the log probabilities of the prompt's tokens are reported."""
    return request.sampling.prompt_logprobs is not None


def longest_chunk(request: Request, num_reported: int) -> int:
    """Return how many tokens of `request` one step may hold, regardless of time.

    Only prompts with logprobs are limited. They share `MOST_REPORTED_TOKENS`, and each may take at least one token.

    num_reported: prompts of the step whose logprobs are reported.
    """
    if not reports_prompt(request):
        return request.num_pending_tokens
    return max(1, min(LONGEST_REPORTED_CHUNK, MOST_REPORTED_TOKENS // num_reported))
