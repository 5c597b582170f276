"""What to tell somebody for whom there is no place in the queue."""

from math import ceil

LONGEST_RETRY_SECONDS = 60
"""OpenAI's clients follow no Retry-After that is longer."""
_REMEMBERED_TURNS = 64


class TurnPace:
    """Learns how many seconds lie between two turns while requests wait, whatever it is that they wait for."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._turns = 0.0
        self._last: float | None = None

    def note(self, now: float, *, others_wait: bool) -> None:
        """A request had its turn."""
        if self._last is not None:
            if self._turns >= _REMEMBERED_TURNS:
                self._seconds, self._turns = self._seconds / 2, self._turns / 2
            self._seconds += now - self._last
            self._turns += 1
        self._last = now if others_wait else None

    @property
    def seconds_each(self) -> float | None:
        """None as long as nobody had to wait."""
        return self._seconds / self._turns if self._turns else None


def retry_after(num_waiting: int, seconds_each: float | None) -> int:
    """Seconds until half of those who wait will have had their turn: then there is room again, and work left to do."""
    if seconds_each is None:
        return 1
    return min(max(ceil(num_waiting * seconds_each / 2), 1), LONGEST_RETRY_SECONDS)
