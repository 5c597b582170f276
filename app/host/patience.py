"""How long a request waits for its model."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Patience:
    """Longest wait of a request for its model.

    seconds: None for no limit.
    is_timeout: whether that is the request's own timeout, and not the limit of the queue.
    """

    seconds: float | None = None
    is_timeout: bool = False

    @classmethod
    def of(cls, timeout: float | None, queue_timeout: float) -> "Patience":
        """Return the shorter of a request's own timeout and the limit of the queue, of which 0 is none."""
        if timeout is not None and (not queue_timeout or timeout <= queue_timeout):
            return cls(timeout, is_timeout=True)
        return cls(queue_timeout or None)


ENDLESS: Final = Patience()
