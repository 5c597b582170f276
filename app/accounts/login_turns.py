"""Turns of the slow part of logins: few at once, and a limited number that wait."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from engine.errors import OverloadedError

T = TypeVar("T")

MAX_WAITING: Final = 32
"""Logins in progress. More are refused, so that a flood holds little memory and few connections."""


class LoginTurns:
    """Owner of the logins that compute or wait for their turn, and of the threads on which they compute.

    The threads belong to these logins alone, so no other work of the server delays a login.
    """

    def __init__(self, at_once: int) -> None:
        """Allow `at_once` logins at a time."""
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="login")
        self._waiting = 0

    async def run(self, compute: Callable[[], T]) -> T:
        """Return what `compute` returns on a thread, once it is this login's turn. Raises OverloadedError.

        A login that is cancelled gives up its place in the line. A computation that has begun keeps its turn until it
        ends.
        """
        if self._waiting >= MAX_WAITING:
            raise OverloadedError("Too many people are logging in at once. Try again in a few seconds", retry_after=5)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, compute)
        finally:
            self._waiting -= 1
