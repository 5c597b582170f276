"""Extra time of a step with drafts over one without. Learned from steps."""

from typing import Final

FIRST_ROW: Final = 1 / 16
"""Initial estimate of the cost of a draft row, as a fraction of a step without drafts."""
FIRST_WAIT: Final = 1 / 8
"""Initial estimate of the wait after a draft, as a fraction of a step without drafts."""
_NEWEST: Final = 0.2
_FORGOTTEN: Final = 0.01


class DraftCost:
    """Learned seconds per draft row, and seconds of idle time after a step with drafts.

    The worker is idle because the next step can only be scheduled once the accepted tokens are known.

    plain_seconds: in every method, the time of a step of the same requests without drafts.
    """

    def __init__(self) -> None:
        self._row: float | None = None
        self._wait: float | None = None

    def row_seconds(self, plain_seconds: float) -> float:
        """Return the cost of one draft row in seconds."""
        return FIRST_ROW * plain_seconds if self._row is None else self._row

    def wait_seconds(self, plain_seconds: float) -> float:
        """Return the idle time after a step with drafts, in seconds."""
        return FIRST_WAIT * plain_seconds if self._wait is None else self._wait

    def note_rows(self, count: int, seconds: float) -> None:
        """Learn that a step with `count` draft rows took `seconds` longer than without them."""
        self._row = _average(self._row, max(0.0, seconds) / count)

    def note_wait(self, seconds: float) -> None:
        """Learn that the worker was idle for `seconds` after a step with drafts."""
        self._wait = _average(self._wait, max(0.0, seconds))

    def fade(self, plain_seconds: float) -> None:
        """Move the learned costs a little towards the initial estimates. Call when a guess was not worth a draft.

        Without drafts nothing is learned, so costs learned while other processes used the machine would otherwise
        prevent drafts forever.
        """
        if self._row is not None:
            self._row += _FORGOTTEN * (FIRST_ROW * plain_seconds - self._row)
        if self._wait is not None:
            self._wait += _FORGOTTEN * (FIRST_WAIT * plain_seconds - self._wait)


def _average(before: float | None, newest: float) -> float:
    return newest if before is None else (1 - _NEWEST) * before + _NEWEST * newest
