"""Repeated lines of the log: one a minute, with the number of lines that were left out."""

import logging
from collections.abc import Callable

import pytest

from app.logs.log_lines import JsonLines, TextLines
from app.logs.log_repeats import MAX_KEPT, REPEAT_SECONDS, RepeatFilter
from engine.api.errors import OutageError

ERROR, WARNING, INFO = logging.ERROR, logging.WARNING, logging.INFO


class Log:
    """A handler with the filter, at a time of the test's choice."""

    def __init__(self) -> None:
        self.now = 0.0
        self._filter = RepeatFilter(lambda: self.now)

    def write(self, level: int, text: str, *values: object, error: BaseException | None = None) -> str | None:
        """Return the line; None if it is left out."""
        info = (type(error), error, error.__traceback__) if error is not None else None
        record = logging.getLogger("t").makeRecord("t", level, __file__, 1, text, values, info)
        return TextLines().format(record) if self._filter.filter(record) else None


def raised(work: Callable[[], object]) -> Exception:
    try:
        work()
    except Exception as error:
        return error
    raise AssertionError


def divide() -> float:
    return 1 / 0


def test_a_repeated_error_is_written_once_a_minute_and_counted() -> None:
    log = Log()
    lines = []
    for second in range(150):
        log.now = float(second)
        lines.append(log.write(ERROR, "the disk is full"))
    written = [line for line in lines if line is not None]
    assert [second for second, line in enumerate(lines) if line is not None] == [0, 60, 120]
    assert written[0].endswith("the disk is full")
    assert written[1].endswith("the disk is full (59 more such lines were left out)")


def test_one_traceback_stands_for_all_from_the_same_place() -> None:
    log = Log()
    assert "ZeroDivisionError" in (log.write(ERROR, "%s failed", "run_1", error=raised(divide)) or "")
    assert log.write(ERROR, "%s failed", "run_2", error=raised(divide)) is None
    assert log.write(ERROR, "%s failed", "run_3", error=raised(lambda: [][1])) is not None


@pytest.mark.parametrize("level", [ERROR, WARNING])
def test_lines_with_other_texts_are_all_written(level: int) -> None:
    log = Log()
    assert all(log.write(level, "%s ended", name) for name in ("run_1", "run_2"))


def test_requests_are_never_left_out() -> None:
    log = Log()
    assert all(log.write(INFO, "request") for _ in range(3))


def test_memory_of_lines_is_bounded() -> None:
    log = Log()
    for number in range(3 * MAX_KEPT):
        assert log.write(ERROR, "%d", number) is not None
    assert len(log._filter._written) <= MAX_KEPT
    log.now = REPEAT_SECONDS
    assert log.write(ERROR, "new") is not None
    assert log.write(ERROR, "new") is None


def test_an_outage_is_one_sentence_without_a_traceback() -> None:
    def refuse() -> None:
        raise OutageError("The disk is full")

    error = raised(refuse)
    line = Log().write(ERROR, "the keys could not be read", error=error)
    assert line is not None
    assert line.endswith("the keys could not be read: The disk is full")
    record = logging.getLogger("t").makeRecord("t", ERROR, __file__, 1, "x", (), (type(error), error, None))
    assert "traceback" not in JsonLines().format(record)
