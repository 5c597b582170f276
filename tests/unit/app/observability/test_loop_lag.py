"""Stops of the event loop are measured, counted, and logged with the stack of the loop's thread."""

import asyncio
import linecache
import logging
import re
import sys
import threading
import time

import pytest

from app.observability.loop_lag import BLOCKED_SECONDS, LOG_SECONDS, PROBE_SECONDS, BlockLog, LoopLag, short_stack

BLOCK_SECONDS = 4 * PROBE_SECONDS


def stand_still(until: threading.Event) -> None:
    until.wait(30)


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


async def test_blocked_loop_is_logged_with_its_stack(caplog: pytest.LogCaptureFixture) -> None:
    written, blocks, rang = threading.Event(), list[None](), asyncio.Event()

    class Written(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.set()

    handler = Written()
    logging.getLogger("app.observability.loop_lag").addHandler(handler)
    probe = LoopLag(lambda _: rang.set(), lambda: blocks.append(None))
    try:
        probe.begin()
        # The loop stands until the line is written.
        stand_still(written)
        await rang.wait()
    finally:
        probe.stop()
        logging.getLogger("app.observability.loop_lag").removeHandler(handler)
    assert blocks == [None]
    [line] = [record.getMessage() for record in caplog.records if record.name == "app.observability.loop_lag"]
    assert "stand_still (test_loop_lag.py:" in line
    assert int(re.findall(r"more than (\d+) ms", line)[0]) >= BLOCKED_SECONDS * 1e3


def test_stacks_keep_no_source_text_in_memory() -> None:
    linecache.clearcache()
    assert short_stack(sys._getframe()).startswith("test_stacks_keep_no_source_text_in_memory (test_loop_lag.py:")
    assert linecache.cache == {}


async def test_blocks_while_engine_starts_are_counted_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    blocks, rang = list[None](), asyncio.Event()
    probe = LoopLag(lambda _: rang.set(), lambda: blocks.append(None), lambda: True)
    probe.begin()
    time.sleep(BLOCK_SECONDS)  # noqa: ASYNC251
    await rang.wait()
    probe.stop()
    assert blocks == [None]
    assert not caplog.records


def test_blocks_are_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    log, frame = BlockLog(), sys._getframe()
    for second in range(int(LOG_SECONDS) + 1):
        log.note(frame, 0.06, 1000.0 + second)
    first, second_line = (record.getMessage() for record in caplog.records)
    assert "other times" not in first
    assert f"{int(LOG_SECONDS) - 1} other times" in second_line
