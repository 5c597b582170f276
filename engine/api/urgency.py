"""Priority and deadline of a request."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Urgency:
    """Urgency of a request. priority: smaller is sooner, as in vLLM. timeout: seconds from arrival to end, or None."""

    priority: int = 0
    timeout: float | None = None


NORMAL = Urgency()
