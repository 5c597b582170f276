"""Measurement of event loop lag, the time that a request waits before any of our code sees it.

A timer fires every PROBE_SECONDS and measures its delay. A block of the loop that is shorter than PROBE_SECONDS may be
missed, and a longer one is underestimated by at most PROBE_SECONDS. When the timer is more than FELT_SECONDS late, a
watcher thread captures the stack of the loop's thread. At most one such stack per minute is logged, and none while the
engine starts: imports and the model's weights hold the interpreter then. While answers are computed, they share the
cores with the loop, and only blocks beyond BUSY_SECONDS are logged. A block that lasts HANG_SECONDS is logged while it
lasts, because the loop may never return.
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
"""Delay in seconds above which the loop counts as blocked."""

FELT_SECONDS: Final = 0.1
"""Delay in seconds that a person feels, above which a block is logged while no answer is computed."""

BUSY_SECONDS: Final = 0.25
"""Delay in seconds above which a block is logged while answers are computed."""

HANG_SECONDS: Final = 5.0
"""Delay in seconds after which a block is logged before it has ended."""

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
        is_computing: Callable[[], bool] = lambda: False,
    ) -> None:
        """Prepare the timer.

        observe: receives each delay in seconds.
        count_block: called for each delay above BLOCKED_SECONDS.
        is_starting: tells whether the engine is starting. Also called in the watcher thread.
        is_computing: tells whether answers are computed.
        """
        self._observe = observe
        self._count_block = count_block
        self._is_starting = is_starting
        self._is_computing = is_computing
        self._due = 0.0
        # Due time of a late timer and the stack of the loop's thread, set by the watcher thread.
        self._captured = 0.0, "unknown"
        self._timer: asyncio.TimerHandle | None = None
        self._stopped = threading.Event()
        self._watch: threading.Thread | None = None
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
        now = time.monotonic()
        late = max(0.0, now - self._due)
        self._observe(late)
        if late > BLOCKED_SECONDS:
            self._count_block()
        if late > FELT_SECONDS and not self._is_starting() and (late > BUSY_SECONDS or not self._is_computing()):
            due, stack = self._captured
            self._log.note(stack if due == self._due else "unknown", late, now)
        self._set_timer()

    def _look_after(self, loop_thread: int) -> None:
        """Capture the stack at each late timer once. Runs in the watcher thread."""
        hanging = 0.0
        while not self._stopped.wait(FELT_SECONDS / 4):
            due, now = self._due, time.monotonic()
            if now - due <= FELT_SECONDS:
                continue
            if due != self._captured[0]:
                frame = sys._current_frames().get(loop_thread)
                self._captured = due, short_stack(frame) if frame is not None else "unknown"
            if now - due > HANG_SECONDS and due != hanging and not self._is_starting():
                hanging = due
                logger.warning(
                    "the event loop has been blocked for more than %d s; stack: %s", HANG_SECONDS, self._captured[1]
                )


class BlockLog:
    """Rate-limited log of blocks of the loop: one line a minute, with the stack of that block."""

    def __init__(self) -> None:
        self._num_others = 0
        self._may_write_at = 0.0

    def note(self, stack: str, late: float, now: float) -> None:
        """Log a block that lasted `late` seconds, or only count it within LOG_SECONDS of the last line."""
        if now < self._may_write_at:
            self._num_others += 1
            return
        others = f", and {self._num_others} other times in the last minute" if self._num_others else ""
        logger.warning("the event loop was blocked for %d ms%s; stack: %s", late * 1e3, others, stack)
        self._num_others, self._may_write_at = 0, now + LOG_SECONDS


def short_stack(frame: FrameType) -> str:
    """Format up to STACK_DEPTH frames as one line, the innermost first."""
    # Not `traceback.extract_stack`, which reads the files of the frames and keeps them in memory.
    frames = islice(traceback.walk_stack(frame), STACK_DEPTH)
    return " < ".join(f"{each.f_code.co_name} ({Path(each.f_code.co_filename).name}:{line})" for each, line in frames)
