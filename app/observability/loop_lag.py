"""Measurement of event loop lag, the time that a request waits before any of our code sees it.

A timer fires every PROBE_SECONDS and measures its delay. A block of the loop that is shorter than PROBE_SECONDS may be
missed, and a longer one is underestimated by at most PROBE_SECONDS. When the timer is more than BLOCKED_SECONDS late, a
watcher thread captures the stack of the loop's thread. At most one such stack per minute is logged, and none while the
engine starts: imports and the model's weights hold the interpreter then.
"""

import asyncio
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Final

PROBE_SECONDS: Final = 0.02

BLOCKED_SECONDS: Final = 0.05
"""Delay in seconds above which the loop counts as blocked. People notice such a delay."""

LOG_SECONDS: Final = 60.0
STACK_DEPTH: Final = 8

logger = logging.getLogger(__name__)


class LoopLag:
    """Probe timer on the running loop, and the thread that watches it."""

    def __init__(
        self,
        observe: Callable[[float], None],
        count_block: Callable[[], None] = lambda: None,
        is_starting: Callable[[], bool] = lambda: False,
    ) -> None:
        """Prepare the timer.

        observe: receives each delay in seconds.
        count_block: called for each delay above BLOCKED_SECONDS.
        is_starting: tells whether the engine is starting. Called in the watcher thread.
        """
        self._observe = observe
        self._count_block = count_block
        self._is_starting = is_starting
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._stopped = threading.Event()
        self._watch: threading.Thread | None = None
        # Accessed only by the watcher thread.
        self._log = BlockLog()

    def begin(self) -> None:
        """Start the timer and the watcher thread."""
        self._set_timer()
        self._watch = threading.Thread(
            target=self._look_after, args=(threading.get_ident(),), name="loop-watch", daemon=True
        )
        self._watch.start()

    def stop(self) -> None:
        """Stop the timer and the watcher thread."""
        if self._timer is not None:
            self._timer.cancel()
        self._stopped.set()
        if self._watch is not None:
            self._watch.join()

    def _set_timer(self) -> None:
        # Not `loop.time()`, which does not advance while callbacks run.
        self._due = time.monotonic() + PROBE_SECONDS
        self._timer = asyncio.get_running_loop().call_later(PROBE_SECONDS, self._ring)

    def _ring(self) -> None:
        late = max(0.0, time.monotonic() - self._due)
        self._observe(late)
        if late > BLOCKED_SECONDS:
            self._count_block()
        self._set_timer()

    def _look_after(self, loop_thread: int) -> None:
        """Record each late timer once. Runs in the watcher thread."""
        noticed = 0.0
        while not self._stopped.wait(BLOCKED_SECONDS / 2):
            due, now = self._due, time.monotonic()
            if now - due > BLOCKED_SECONDS and due != noticed:
                noticed = due
                if self._is_starting():
                    continue
                self._log.note(sys._current_frames().get(loop_thread), now - due, now)


class BlockLog:
    """Rate-limited log of blocks of the loop: one line a minute, with the stack of the current block."""

    def __init__(self) -> None:
        self._num_others = 0
        self._may_write_at = 0.0

    def note(self, frame: FrameType | None, late: float, now: float) -> None:
        """Log a block that has lasted `late` seconds so far, or only count it within LOG_SECONDS of the last line."""
        if now < self._may_write_at:
            self._num_others += 1
            return
        stack = short_stack(frame) if frame is not None else "unknown"
        logger.warning(
            "the event loop has been blocked for more than %d ms%s; stack: %s",
            late * 1e3,
            f", and {self._num_others} other times in the last minute" if self._num_others else "",
            stack,
        )
        self._num_others, self._may_write_at = 0, now + LOG_SECONDS


def short_stack(frame: FrameType) -> str:
    """Format up to STACK_DEPTH frames as one line, the innermost first."""
    # Not `traceback.extract_stack`, which reads the files of the frames and keeps them in memory.
    frames = islice(traceback.walk_stack(frame), STACK_DEPTH)
    return " < ".join(f"{each.f_code.co_name} ({Path(each.f_code.co_filename).name}:{line})" for each, line in frames)
