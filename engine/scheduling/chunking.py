"""How large a piece of a prompt may be while others stream: a chunk lengthens the step that everybody waits for."""

from engine.request import Request
from engine.scheduling.step_cost import StepCost

SMALLEST_CHUNK = 16
LONGEST_TOLD_CHUNK = 64
AUTO_STEP_SECONDS = 0.05
"""A reader follows 20 pieces of text a second without noticing steps, and who arrives waits no longer than needed."""
AUTO_STRETCH = 2.0


def prompt_tokens_beside(cost: StepCost, decodes: int, target_seconds: float, room: int) -> int:
    """Return how many prompt tokens a step with so many decodes may hold, so that it takes at most `target_seconds`.

    target_seconds: 0 means `AUTO_STEP_SECONDS`, or twice a step of decodes alone where that is more. The result is
    never less than SMALLEST_CHUNK, so that prompts go on, nor more than `room`. Until the costs are known, `room`.
    """
    alone = cost.decode_seconds(decodes)
    if not decodes or alone is None or not cost.token_seconds:
        return room
    target = target_seconds or max(AUTO_STEP_SECONDS, AUTO_STRETCH * alone)
    return min(room, max(SMALLEST_CHUNK, int((target - alone) / cost.token_seconds)))


def longest_chunk(request: Request) -> int:
    """How many tokens of it one step may hold, whatever the time: logits of a whole row are kept for each that is to be
    told of, and a megabyte is soon full of them."""
    return LONGEST_TOLD_CHUNK if request.sampling.prompt_logprobs is not None else request.num_pending_tokens
