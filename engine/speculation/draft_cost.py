"""What a step with drafts takes beyond one without, learned from steps that were made."""

from typing import Final

FIRST_ROW: Final = 1 / 16
FIRST_WAIT: Final = 1 / 8
"""What a row and the wait are taken to cost before anything is known, in steps without drafts."""
_NEWEST: Final = 0.2
_FORGOTTEN: Final = 0.01


class DraftCost:
    """Seconds for each drafted row, and those in which nothing is computed because the step behind a draft can only be
    put together when it is known what stands of it."""

    def __init__(self) -> None:
        self._row: float | None = None
        self._wait: float | None = None

    def row_seconds(self, plain_seconds: float) -> float:
        """plain_seconds: of a step of the same requests without drafts."""
        return FIRST_ROW * plain_seconds if self._row is None else self._row

    def wait_seconds(self, plain_seconds: float) -> float:
        """plain_seconds: as above."""
        return FIRST_WAIT * plain_seconds if self._wait is None else self._wait

    def note_rows(self, count: int, seconds: float) -> None:
        """A step with so many drafted rows took so much longer than without."""
        self._row = _average(self._row, max(0.0, seconds) / count)

    def note_wait(self, seconds: float) -> None:
        """So long nothing was computed behind a draft."""
        self._wait = _average(self._wait, max(0.0, seconds))

    def fade(self, plain_seconds: float) -> None:
        """There was a guess, and it was not worth a draft. What was learned while something else ran here must not keep
        everybody from drafting for ever: the first assumption comes back. plain_seconds: as above."""
        if self._row is not None:
            self._row += _FORGOTTEN * (FIRST_ROW * plain_seconds - self._row)
        if self._wait is not None:
            self._wait += _FORGOTTEN * (FIRST_WAIT * plain_seconds - self._wait)


def _average(before: float | None, newest: float) -> float:
    return newest if before is None else (1 - _NEWEST) * before + _NEWEST * newest
