"""How soon a request wants to be served, and how long it may take."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Urgency:
    """priority: smaller is sooner, as in vLLM. timeout: seconds from its arrival to its end, or None."""

    priority: int = 0
    timeout: float | None = None


NORMAL = Urgency()
