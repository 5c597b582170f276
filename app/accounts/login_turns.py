"""Turns of the slow part of logins: few at once, a limited number that wait, and the sources of logins one by one."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

from engine.api.errors import OverloadedError
from engine.process.fair_places import FairPlaces

T = TypeVar("T")

MAX_WAITING: Final = 32
"""Logins in progress. More are refused, so that a flood holds little memory and few connections."""


def _too_many(_waiting: int) -> OverloadedError:
    return OverloadedError("Too many people are logging in at once. Try again in a few seconds", retry_after=5)


def _stays() -> None:
    """Continue: the login has no client that may leave."""


@dataclass(frozen=True, slots=True)
class LoginLine:
    """Line in which a login waits for its turn.

    line: name of the line.
    stop: raises ClientDisconnect once the client of the login has left.
    """

    line: str
    stop: Callable[[], None] = field(default=_stays, compare=False)


class LoginTurns:
    """Owner of the logins that compute or wait for their turn, and of the threads on which they compute.

    The threads belong to these logins alone, so no other work of the server delays a login. Each source has a separate
    line. If all places are taken, a login takes the last place of the longest line.
    """

    def __init__(self, at_once: int) -> None:
        """Allow `at_once` logins at a time."""
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="login")
        self._places = FairPlaces(at_once, most_waiting=None, most_in_all=MAX_WAITING, refusal=_too_many)

    async def run(self, place: LoginLine, compute: Callable[[], T]) -> T:
        """Return what `compute` returns on a thread, once it is this login's turn.

        A login that is cancelled gives up its place in the line, and one whose client has left gives up its turn. A
        computation that has begun keeps its turn until it ends.

        Raises:
            OverloadedError: too many logins wait.
            ClientDisconnect: the client left before the turn came.
        """
        await self._places.take(place.line)
        try:
            place.stop()
        except BaseException:
            self._places.free(place.line)
            raise
        computing = asyncio.get_running_loop().run_in_executor(self._threads, compute)
        computing.add_done_callback(partial(self._end, place.line))
        return await asyncio.shield(computing)

    def _end(self, line: str, computing: "asyncio.Future[Any]") -> None:
        if not computing.cancelled():
            # An error that no login waits for any longer is not logged.
            computing.exception()
        self._places.free(line)
