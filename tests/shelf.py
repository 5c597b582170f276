"""A directory of shared replicas in memory."""

import asyncio
from contextlib import suppress

from engine.fleet.placement.shared_place import PublishedReplica, SharedPlace


class Shelf:
    """Directory of replicas in memory. keeper: the gateway that keeps the replicas; None for the next that asks."""

    def __init__(self) -> None:
        self.keeper: Card | None = None
        self.published: dict[int, PublishedReplica] = {}
        self.changed = asyncio.Event()
        self.last_epoch = 0

    def announce(self) -> None:
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()


class Card:
    """One gateway's access to a shelf. See ReplicaDirectory."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    async def read(self) -> dict[int, PublishedReplica]:
        return dict(self._shelf.published)

    async def reserve(self, number: int, after: int = 0) -> int | None:
        shelf = self._shelf
        shelf.keeper = shelf.keeper or self
        if shelf.keeper is not self:
            return None
        shelf.last_epoch = max(shelf.last_epoch, after) + 1
        shelf.published[number] = PublishedReplica(shelf.last_epoch, None)
        return shelf.last_epoch

    async def publish(self, number: int, epoch: int, place: SharedPlace) -> bool:
        if self._shelf.published[number].epoch != epoch:
            return False
        self._shelf.published[number] = PublishedReplica(epoch, place)
        self._shelf.announce()
        return True

    async def bring_back(self, number: int, epoch: int, place: SharedPlace) -> None:
        published = self._shelf.published.get(number)
        if published is None or published.epoch < epoch or published == PublishedReplica(epoch, None):
            self._shelf.published[number] = PublishedReplica(epoch, place)
            self._shelf.last_epoch = max(self._shelf.last_epoch, epoch)
            self._shelf.announce()

    async def next_change(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._shelf.changed.wait()
