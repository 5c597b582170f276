"""Stops of the event loop are measured, counted, and logged with the stack of the loop's thread."""

import asyncio
import linecache
import logging
import re
import sys
import threading
import time

import pytest

from app.observability.loop_lag import (
    BUSY_SECONDS,
    FELT_SECONDS,
    HANG_SECONDS,
    LOG_SECONDS,
    PROBE_SECONDS,
    BlockLog,
    LoopLag,
    short_stack,
)

BLOCK_SECONDS = 4 * PROBE_SECONDS


def stand_still(seconds: float) -> None:
    time.sleep(seconds)


def lines_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "app.observability.loop_lag"]


async def blocked(seconds: float, *, is_computing: bool = False, is_starting: bool = False) -> int:
    """Block the loop once, and return how many blocks were counted."""
    blocks, rang = list[None](), asyncio.Event()
    probe = LoopLag(lambda _: rang.set(), lambda: blocks.append(None), lambda: is_starting, lambda: is_computing)
    probe.begin()
    stand_still(seconds)
    await rang.wait()
    probe.stop()
    return len(blocks)


async def test_stop_of_the_loop_is_seen_but_for_one_interval() -> None:
    seen, rang = list[float](), asyncio.Event()

    def observe(seconds: float) -> None:
        seen.append(seconds)
        rang.set()

    probe = LoopLag(observe)
    probe.begin()
    time.sleep(BLOCK_SECONDS)  # noqa: ASYNC251
    await rang.wait()
    probe.stop()
    assert seen[0] >= BLOCK_SECONDS - PROBE_SECONDS


@pytest.mark.parametrize(
    ("seconds", "is_computing"), [(FELT_SECONDS + 3 * PROBE_SECONDS, False), (BUSY_SECONDS + 3 * PROBE_SECONDS, True)]
)
async def test_block_that_people_feel_is_logged_with_its_stack(
    caplog: pytest.LogCaptureFixture, seconds: float, is_computing: bool
) -> None:
    assert await blocked(seconds, is_computing=is_computing) == 1
    [line] = lines_of(caplog)
    assert "stand_still (test_loop_lag.py:" in line
    assert int(re.findall(r"blocked for (\d+) ms", line)[0]) > (BUSY_SECONDS if is_computing else FELT_SECONDS) * 1e3


@pytest.mark.parametrize(
    ("seconds", "states"),
    [
        (BLOCK_SECONDS, {}),
        (FELT_SECONDS + PROBE_SECONDS, {"is_computing": True}),
        (BUSY_SECONDS + PROBE_SECONDS, {"is_starting": True}),
    ],
)
async def test_other_blocks_are_counted_and_not_logged(
    caplog: pytest.LogCaptureFixture, seconds: float, states: dict[str, bool]
) -> None:
    assert await blocked(seconds, **states) == 1
    assert lines_of(caplog) == []


async def test_hanging_loop_is_logged_before_it_returns(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = threading.Event()

    class Written(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.set()

    monkeypatch.setattr("app.observability.loop_lag.HANG_SECONDS", BLOCK_SECONDS)
    handler, probe = Written(), LoopLag(lambda _: None)
    logging.getLogger("app.observability.loop_lag").addHandler(handler)
    try:
        probe.begin()
        # The loop stands until the line is written.
        assert written.wait(HANG_SECONDS)
    finally:
        probe.stop()
        logging.getLogger("app.observability.loop_lag").removeHandler(handler)
    assert "has been blocked" in lines_of(caplog)[0]


def test_stacks_keep_no_source_text_in_memory() -> None:
    linecache.clearcache()
    assert short_stack(sys._getframe()).startswith("test_stacks_keep_no_source_text_in_memory (test_loop_lag.py:")
    assert linecache.cache == {}


def test_blocks_are_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    log = BlockLog()
    for second in range(int(LOG_SECONDS) + 1):
        log.note("stack", 0.3, 1000.0 + second)
    first, second_line = (record.getMessage() for record in caplog.records)
    assert "other times" not in first
    assert f"{int(LOG_SECONDS) - 1} other times" in second_line
