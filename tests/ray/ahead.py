"""Replicas that start while earlier tests run, since the start of their processes takes longer than the tests."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from engine.fleet.remote_engine import RemoteEngine

Start = Callable[[], Awaitable[list[RemoteEngine]]]
"""Starts replicas and returns their gateways. Ray lets the replicas wait until machines are free."""


class Ahead:
    """The starts of replicas, by name. Every method belongs to the session's event loop."""

    def __init__(self, starts: Mapping[str, Start]) -> None:
        self._starts = starts
        self._begun: dict[str, asyncio.Task[list[RemoteEngine]]] = {}

    def begin(self, name: str) -> None:
        """Begin to start the replicas `name`, unless they have begun."""
        if name not in self._begun:
            self._begun[name] = asyncio.create_task(self._started(name))

    async def _started(self, name: str) -> list[RemoteEngine]:
        return await self._starts[name]()

    async def gateways(self, name: str) -> list[RemoteEngine]:
        """End all other replicas, whose machines these may need, wait until these serve, and return their gateways."""
        await self.end_all_but(name)
        self.begin(name)
        return await self._begun[name]

    async def end(self, name: str) -> None:
        """End the replicas `name`, which must have begun."""
        for gateway in reversed(await self._begun.pop(name)):
            await gateway.stop(0.0)

    async def end_all_but(self, *kept: str) -> None:
        """End all replicas but those named `kept`, also replicas that no test has used."""
        for name in [name for name in self._begun if name not in kept]:
            await self.end(name)
