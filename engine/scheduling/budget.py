"""What one step may hold."""

from dataclasses import dataclass


@dataclass(slots=True)
class SchedulingBudget:
    """Tokens and sequences left in the step that is being put together."""

    tokens: int
    sequences: int

    @property
    def exhausted(self) -> bool:
        """Whether nothing more fits."""
        return self.tokens <= 0 or self.sequences <= 0

    def take(self, num_tokens: int) -> None:
        """One more sequence, with that many tokens."""
        assert 0 < num_tokens <= self.tokens
        assert self.sequences > 0
        self.tokens -= num_tokens
        self.sequences -= 1
