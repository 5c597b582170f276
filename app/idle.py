"""What is asked of the engine when nobody else asks for anything."""

from app.backend import Backend
from engine.urgency import Urgency

LAST = (1 << 31) - 1
"""Of all priorities."""


def is_busy(engine: Backend, *, but: int = 0) -> bool:
    """Whether it has more requests than `but`."""
    stats = engine.stats()
    return stats.running + stats.waiting + stats.loading + stats.following > but


def behind_all(engine: Backend) -> Urgency:
    """Whoever comes goes first; under "fcfs" there are no priorities."""
    return Urgency(0 if engine.config.queue_policy == "fcfs" else LAST)
