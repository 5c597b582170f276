"""Retry-After of requests that are refused because the queue is full."""

from math import ceil

LONGEST_RETRY_SECONDS = 60
"""Longest Retry-After that OpenAI's clients follow."""
_REMEMBERED_TURNS = 64


class TurnPace:
    """Mean seconds between two turns while requests wait, whatever they wait for. Older turns fade."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._turns = 0.0
        self._last: float | None = None

    def note(self, now: float, *, others_wait: bool) -> None:
        """Record that a request had its turn.

        now: seconds on the scheduler's clock. others_wait: whether requests remain in the queue.
        """
        if self._last is not None:
            if self._turns >= _REMEMBERED_TURNS:
                self._seconds, self._turns = self._seconds / 2, self._turns / 2
            self._seconds += now - self._last
            self._turns += 1
        self._last = now if others_wait else None

    @property
    def seconds_each(self) -> float | None:
        """Mean seconds per turn; None until a request has had to wait."""
        return self._seconds / self._turns if self._turns else None


def retry_after(num_waiting: int, seconds_each: float | None) -> int:
    """Return after how many seconds a refused request should be retried, from 1 to `LONGEST_RETRY_SECONDS`.

    By then half of the waiting requests should have had their turn, so the queue has room and the server still has
    work.
    """
    if seconds_each is None:
        return 1
    return min(max(ceil(num_waiting * seconds_each / 2), 1), LONGEST_RETRY_SECONDS)
