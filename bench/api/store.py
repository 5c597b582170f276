"""Listing and searching in the store of `bench.conversation_store`, as figures of this benchmark."""

from dataclasses import dataclass
from pathlib import Path

from bench.conversation_store import Figure, measure

ROUNDS = 30
MESSAGES_EACH = 10


@dataclass(frozen=True, slots=True)
class StoreResult:
    """Duration of the store's own calls, and the size of the store."""

    conversations: int
    messages: int
    figures: tuple[Figure, ...]

    def worst_ms(self, kind: str) -> float:
        """Return the highest 95th percentile of the calls whose names begin with `kind`."""
        return max(each.milliseconds.p95 for each in self.figures if each.name.startswith(f"{kind}:"))


async def measure_store(conversations: int, root: Path) -> StoreResult:
    """Fill a new database below `root` and measure its calls."""
    messages = conversations * MESSAGES_EACH
    figures = await measure(root / "store.db", conversations=conversations, messages=messages, rounds=ROUNDS)
    return StoreResult(conversations, messages, tuple(figures))
