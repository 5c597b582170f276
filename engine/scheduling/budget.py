"""Limits of one step: tokens, sequences and prompt tokens."""

from dataclasses import dataclass


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
