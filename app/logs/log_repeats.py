"""Repeated warnings and errors of the log, of which one a minute is written.

A full disk or a client in a loop makes the same line hundreds of times a second, often with a traceback. Lines are the
same if they have the same text or, with a traceback, the same exception from the same place.
"""

import logging
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass

REPEAT_SECONDS = 60.0
MAX_KEPT = 512

REPEATS = "repeats"
"""The attribute of a record that counts the lines which were left out before it."""


@dataclass(slots=True)
class _Written:
    """Last line written. at: its monotonic time. left_out: number of lines suppressed since then."""

    at: float
    left_out: int = 0


class RepeatFilter(logging.Filter):
    """A filter for a handler that passes a repeated warning or error once in REPEAT_SECONDS, with their count."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._written: dict[Hashable, _Written] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether `record` is written."""
        if record.levelno < logging.WARNING:
            return True
        now, key = self._clock(), _key_of(record)
        last = self._written.get(key)
        if last is not None and now - last.at < REPEAT_SECONDS:
            last.left_out += 1
            return False
        if last is not None and last.left_out:
            setattr(record, REPEATS, last.left_out)
        if len(self._written) >= MAX_KEPT:
            self._written = {each: kept for each, kept in self._written.items() if now - kept.at < REPEAT_SECONDS}
        if len(self._written) < MAX_KEPT:
            self._written[key] = _Written(now)
        return True


def _key_of(record: logging.LogRecord) -> Hashable:
    error, trace = record.exc_info[1:] if record.exc_info else (None, None)
    if error is None or trace is None:
        return record.name, record.levelno, record.getMessage()
    while trace.tb_next is not None:
        trace = trace.tb_next
    # The text may name the request or the run, of which each line has another.
    return record.name, record.msg, type(error), trace.tb_frame.f_code, trace.tb_lineno
