"""Turns of the slow part of logins: few at once, and a limited number that wait."""

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

from engine.errors import OverloadedError

T = TypeVar("T")

MAX_WAITING: Final = 32
"""Logins in progress. More are refused, so that a flood holds little memory and few connections."""


class LoginTurns:
    """Owner of the logins that compute or wait for their turn."""

    def __init__(self, at_once: int) -> None:
        """Allow `at_once` logins at a time."""
        self._turn = asyncio.Semaphore(at_once)
        self._waiting = 0

    async def run(self, compute: Callable[[], T]) -> T:
        """Return what `compute` returns on a thread, once it is this login's turn. Raises OverloadedError."""
        if self._waiting >= MAX_WAITING:
            raise OverloadedError("Too many people are logging in at once. Try again in a few seconds", retry_after=5)
        self._waiting += 1
        try:
            async with self._turn:
                return await asyncio.to_thread(compute)
        finally:
            self._waiting -= 1
