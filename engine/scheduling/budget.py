"""What one step may hold."""

from dataclasses import dataclass


@dataclass(slots=True)
class SchedulingBudget:
    """Left in the step that is being put together. prompt_tokens: how many of the tokens may be parts of prompts."""

    tokens: int
    sequences: int
    prompt_tokens: int

    @property
    def exhausted(self) -> bool:
        """Whether nothing more fits."""
        return self.tokens <= 0 or self.sequences <= 0

    def take(self, num_tokens: int) -> None:
        """One more sequence, with that many tokens; a single one is a decode."""
        assert 0 < num_tokens <= self.tokens
        assert self.sequences > 0
        self.tokens -= num_tokens
        if num_tokens > 1:
            self.prompt_tokens = max(0, self.prompt_tokens - num_tokens)
        self.sequences -= 1
