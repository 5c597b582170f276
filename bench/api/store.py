"""Listing and searching over the store of `bench.conversation_store`, as rows of this benchmark."""

from dataclasses import dataclass
from pathlib import Path

from bench.conversation_store import Figure, measure

ROUNDS = 30
MESSAGES_EACH = 10


@dataclass(frozen=True, slots=True)
class StoreResult:
    """figures: of the store's own calls."""

    conversations: int
    messages: int
    figures: tuple[Figure, ...]

    def worst_ms(self, kind: str) -> float:
        """The highest 95th percentile of the calls whose names begin with `kind`."""
        return max(each.milliseconds.p95 for each in self.figures if each.name.startswith(f"{kind}:"))


async def measure_store(conversations: int, root: Path) -> StoreResult:
    """In a file of its own."""
    messages = conversations * MESSAGES_EACH
    figures = await measure(root / "store.db", conversations=conversations, messages=messages, rounds=ROUNDS)
    return StoreResult(conversations, messages, tuple(figures))
