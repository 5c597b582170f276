"""Replicas that start while earlier tests run, since the start of their processes takes longer than the tests."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

Start = Callable[[AsyncExitStack], Awaitable[Any]]
"""Starts replicas, pushes their end on the stack, and returns what tests use of them.

Ray lets the replicas wait until machines are free.
"""


@dataclass(frozen=True, slots=True)
class _Begun:
    starting: asyncio.Task[Any]
    closing: AsyncExitStack


class Ahead:
    """The starts of replicas, by name. Every method belongs to the session's event loop."""

    def __init__(self, starts: Mapping[str, Start]) -> None:
        self._starts = starts
        self._begun: dict[str, _Begun] = {}

    def begin(self, name: str) -> None:
        """Begin to start the replicas `name`, unless they have begun."""
        if name not in self._begun:
            closing = AsyncExitStack()
            self._begun[name] = _Begun(asyncio.create_task(self._started(name, closing)), closing)

    async def _started(self, name: str, closing: AsyncExitStack) -> Any:
        return await self._starts[name](closing)

    async def started(self, name: str) -> Any:
        """End all other replicas, whose machines these may need, and wait until these serve.

        Return what their Start returned.
        """
        await self.end_all_but(name)
        self.begin(name)
        return await self._begun[name].starting

    async def end(self, name: str) -> None:
        """End the replicas `name`, which must have begun."""
        begun = self._begun.pop(name)
        await asyncio.wait([begun.starting])
        await begun.closing.aclose()
        if not begun.starting.cancelled():
            begun.starting.result()

    async def end_all_but(self, *kept: str) -> None:
        """End all replicas but those named `kept`, also replicas that no test has used."""
        for name in [name for name in self._begun if name not in kept]:
            await self.end(name)
