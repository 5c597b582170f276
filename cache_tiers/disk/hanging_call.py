"""Calls to a file system that may hang, which nothing can end."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

Result = TypeVar("Result")


def result_within(seconds: float, call: Callable[[], Result]) -> Result:
    """Return the result of `call`, or raise its error. Raise TimeoutError after `seconds`.

    The call then continues on a thread that is left behind, and that does not keep the process from ending.
    """
    future = Future[Result]()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, name="disk-call", daemon=True).start()
    return future.result(seconds)
