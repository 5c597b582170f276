"""Benchmarks that a signal ends: their servers end with them."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

T = TypeVar("T")

TERMINATED: Final = 128 + signal.SIGTERM
"""Exit status after SIGTERM."""


def run_to_end(
    work: Coroutine[Any, Any, T], *, loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None
) -> T:
    """Run the coroutine of a benchmark, and return its result. SIGTERM cancels it.

    Raise SystemExit with the status TERMINATED if a SIGTERM has ended it.
    """
    is_terminated = False

    async def ended_by_signal() -> T:
        task = asyncio.current_task()
        assert task is not None

        def end() -> None:
            nonlocal is_terminated
            is_terminated = True
            task.cancel()

        # Without this a SIGTERM would end the benchmark and leave its servers running.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end)
        return await work

    try:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            return runner.run(ended_by_signal())
    except asyncio.CancelledError:
        if is_terminated:
            raise SystemExit(TERMINATED) from None
        raise
