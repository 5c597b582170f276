"""Work on a thread that does not keep the process alive."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def in_daemon_thread(work: Callable[[], T], name: str) -> T:
    """Run `work` on a thread of this name, and return its result or raise its exception.

    An executor's thread would keep the process alive until a model is loaded.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def settle(value: T | Exception) -> None:
        if result.done():
            return
        if isinstance(value, Exception):
            result.set_exception(value)
        else:
            result.set_result(value)

    def run() -> None:
        try:
            value: T | Exception = work()
        except Exception as exc:
            value = exc
        # The loop is closed if the server stopped in the meantime.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, value)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await result
