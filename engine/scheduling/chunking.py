"""Size of a prompt chunk while answers are streaming: each chunk lengthens the step that all streams wait for."""

from engine.request import Request
from engine.scheduling.step_cost import StepCost

SMALLEST_CHUNK = 16
LONGEST_TOLD_CHUNK = 64
AUTO_STEP_SECONDS = 0.05
"""Default time of a step with running streams.

At 20 pieces of text a second a reader does not notice the steps. A longer step would only delay arriving requests.
"""
AUTO_STRETCH = 2.0


def prompt_tokens_alongside(cost: StepCost, decodes: int, target_seconds: float, room: int, context: int = 0) -> int:
    """Return how many prompt tokens fit in a step of `target_seconds` alongside `decodes` decodes.

    The result is at most `room`, and at least `SMALLEST_CHUNK` where `room` allows, so that prompts make progress.
    Without decodes, or until the costs are known, return `room`.

    context: tokens before those of the prompts, on average.
    target_seconds: 0 means `AUTO_STEP_SECONDS`, or twice the time of a step of decodes alone where that is longer.
    """
    alone = cost.decode_seconds(decodes)
    if not decodes or alone is None:
        return room
    target = target_seconds or max(AUTO_STEP_SECONDS, AUTO_STRETCH * alone)
    within = cost.prompt_tokens_within(target - alone, context)
    return room if within is None else min(room, max(SMALLEST_CHUNK, within))


def longest_chunk(request: Request) -> int:
    """Return how many tokens of `request` one step may hold, regardless of time.

    Only prompt logprobs limit it: they keep a full row of logits per token, and a few rows fill a megabyte.
    """
    return LONGEST_TOLD_CHUNK if request.sampling.prompt_logprobs is not None else request.num_pending_tokens
