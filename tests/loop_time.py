"""Measurement of how long the event loop is busy without a break: the CPU time of its longest callback."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest


@dataclass
class LoopTime:
    """The longest callback so far.

    seconds: its CPU time in the thread of the loop, which other programs of the machine hardly change.
    """

    seconds: float = 0.0
    name: str = ""


@contextmanager
def watched_loop() -> Iterator[LoopTime]:
    """Measure the callbacks that run during the context."""
    longest, run = LoopTime(), asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        name, began = repr(handle), time.thread_time()
        run(handle)
        taken = time.thread_time() - began
        if taken > longest.seconds:
            longest.seconds, longest.name = taken, name

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio.Handle, "_run", timed)
        yield longest
