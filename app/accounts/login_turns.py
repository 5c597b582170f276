"""Turns of the slow part of logins: few at once, a limited number that wait, and the sources of logins one by one."""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from engine.errors import OverloadedError

T = TypeVar("T")

MAX_WAITING: Final = 32
"""Logins in progress. More are refused, so that a flood holds little memory and few connections."""


def _stays() -> None:
    """Continue: the login has no client that may leave."""


@dataclass(frozen=True, slots=True)
class Place:
    """Place in which a login waits for its turn.

    line: name of the line.
    stop: raises ClientDisconnect once the client of the login has left.
    """

    line: str
    stop: Callable[[], None] = field(default=_stays, compare=False)


class LoginTurns:
    """Owner of the logins that compute or wait for their turn, and of the threads on which they compute.

    The threads belong to these logins alone, so no other work of the server delays a login. Each source has a line of
    its own, and the lines take turns. If all places are taken, a login takes the last place of the longest line.
    """

    def __init__(self, at_once: int) -> None:
        """Allow `at_once` logins at a time."""
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="login")
        self._at_once = at_once
        self._computing = 0
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}

    async def run(self, place: Place, compute: Callable[[], T]) -> T:
        """Return what `compute` returns on a thread, once it is this login's turn.

        A login that is cancelled gives up its place in the line, and one whose client has left gives up its turn. A
        computation that has begun keeps its turn until it ends.

        Raises:
            OverloadedError: too many logins wait.
            ClientDisconnect: the client left before the turn came.
        """
        await self._turn(place.line)
        try:
            place.stop()
        except BaseException:
            self._pass_on()
            raise
        computing = asyncio.get_running_loop().run_in_executor(self._threads, compute)
        computing.add_done_callback(self._end)
        return await asyncio.shield(computing)

    async def _turn(self, line: str) -> None:
        if self._computing < self._at_once:
            self._computing += 1
            return
        self._make_room(line)
        turn = asyncio.get_running_loop().create_future()
        self._lines.setdefault(line, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._leave(line, turn)
            else:
                self._pass_on()
            raise

    def _make_room(self, line: str) -> None:
        """Take the last place of the longest line if all places are taken. Raises OverloadedError."""
        if self._computing + sum(map(len, self._lines.values())) < MAX_WAITING:
            return
        longest = max(self._lines, key=lambda name: len(self._lines[name]), default=line)
        refusal = OverloadedError("Too many people are logging in at once. Try again in a few seconds", retry_after=5)
        if len(self._lines.get(longest, ())) <= len(self._lines.get(line, ())) + 1:
            raise refusal
        last = self._lines[longest][-1]
        self._leave(longest, last)
        last.set_exception(refusal)

    def _leave(self, line: str, turn: "asyncio.Future[None]") -> None:
        self._lines[line].remove(turn)
        if not self._lines[line]:
            del self._lines[line]

    def _end(self, computing: "asyncio.Future[Any]") -> None:
        if not computing.cancelled():
            # An error that no login waits for any longer is not logged.
            computing.exception()
        self._pass_on()

    def _pass_on(self) -> None:
        """Give a turn that ended to the next line."""
        if not self._lines:
            self._computing -= 1
            return
        line = next(iter(self._lines))
        waiting = self._lines.pop(line)
        waiting.popleft().set_result(None)
        if waiting:
            self._lines[line] = waiting
