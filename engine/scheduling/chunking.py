"""How large a piece of a prompt may be while others stream: a chunk lengthens the step that everybody waits for."""

from engine.request import Request
from engine.scheduling.output import SchedulerOutput

SMALLEST_CHUNK = 16
LONGEST_TOLD_CHUNK = 64
AUTO_STEP_SECONDS = 0.05
"""A reader follows 20 pieces of text a second without noticing steps, and who arrives waits no longer than needed."""
AUTO_STRETCH = 2.0
_NEWEST = 0.2
_LONGER = 0.05
"""What a step of decodes counts that took longer than it should: something else ran on this machine meanwhile. Those
who stream are promised twice the time of a step that nothing disturbs, and a disturbed one is no reason for more."""


class StepCost:
    """Learns, from steps that were made, seconds of a step of decodes alone, by how many there are, and seconds per
    prompt token on top."""

    def __init__(self) -> None:
        self.token_seconds: float | None = None
        self._decode_seconds: dict[int, float] = {}

    def note(self, step: SchedulerOutput, seconds: float) -> None:
        """`step` took that long. From one with drafts `DraftCost` learns."""
        if step.drafts:
            return
        decodes, prompt_tokens = _kinds_of_tokens(step)
        if prompt_tokens == 0 and decodes:
            before = self._decode_seconds.get(decodes.bit_length())
            weight = _NEWEST if before is None or seconds < before else _LONGER
            self._decode_seconds[decodes.bit_length()] = _average(before, seconds, weight)
        elif prompt_tokens >= SMALLEST_CHUNK:
            base = self._base_seconds(decodes) or 0.0
            self.token_seconds = _average(self.token_seconds, max(seconds - base, 0.0) / prompt_tokens, _NEWEST)

    def decode_seconds(self, decodes: int) -> float | None:
        """Of a step that holds so many of them and nothing else; where that was never seen, the nearest that was."""
        if decodes == 0 or not self._decode_seconds:
            return None if decodes else 0.0
        size = decodes.bit_length()
        return self._decode_seconds[min(self._decode_seconds, key=lambda other: abs(other - size))]

    def expected_seconds(self, step: SchedulerOutput) -> float | None:
        """Return how long `step` should take; None until the costs of its parts are known."""
        decodes, prompt_tokens = _kinds_of_tokens(step)
        base = self._base_seconds(decodes) if prompt_tokens else self.decode_seconds(decodes)
        more = self.token_seconds if prompt_tokens else 0.0
        return None if base is None or more is None else base * step.passes + more * prompt_tokens

    def _base_seconds(self, decodes: int) -> float | None:
        """Return the seconds of a step with prompts apart from their tokens.

        A step without answers reads the weights as well, like one with a single answer.
        """
        return self.decode_seconds(decodes) if decodes else self.decode_seconds(1) or 0.0


def _kinds_of_tokens(step: SchedulerOutput) -> tuple[int, int]:
    """Sequences with a single token, and tokens of all others."""
    decodes = sum(count == 1 for count in step.num_scheduled_tokens.values())
    return decodes, step.total_tokens - decodes


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


def _average(before: float | None, newest: float, weight: float) -> float:
    return newest if before is None else (1 - weight) * before + weight * newest
