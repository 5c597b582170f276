"""Prefetch hints and places of prompts over all replicas."""

import asyncio
from collections.abc import Sequence

from cache_tiers.registry import all_tiers
from cache_tiers.tier import TierId
from engine.fleet.gateway.keeper import ReplicaKeeper
from engine.fleet.gateway.link import Link, ReplicaLostError
from engine.fleet.replica.live_hints import LiveHints
from engine.fleet.routing.prompt_names import PromptNames
from engine.fleet.routing.router import RoutedPrompt, Router
from engine.fleet.wire.messages import Leave, Places, Warm


class RemotePrefixes:
    """Cached KV of prompts that have not been sent yet. See `StoredPrefixes`.

    A hint goes to the replica that the prompt itself would go to now.
    """

    def __init__(self, keeper: ReplicaKeeper, router: Router, names: PromptNames) -> None:
        self._keeper = keeper
        self._router = router
        self._names = names
        self._hinted = LiveHints[Link]()

    async def warm(self, name: str, token_ids: Sequence[int], *, tenant: str) -> bool:
        """Add a prefetch hint to the replica that has the prefix. Return whether any block is prefetched."""
        ids = list(token_ids)
        names = await self._names.of(ids, tenant)
        links = self._keeper.ready
        if not links:
            return False
        seat = self._router.choose(RoutedPrompt(names, len(ids)))
        link = next(link for link in links if link.seat is seat)
        if self._hinted.get(name) not in (None, link):
            self.leave(name)
        self._hinted.add(name, link)
        try:
            warmed: bool = await link.call(lambda call: Warm(call, name, ids, tenant))
        except ReplicaLostError:
            self._hinted.pop(name)
            return False
        return warmed

    def leave(self, name: str) -> None:
        """Cancel the prefetch hint `name`. Do nothing if there is none."""
        link = self._hinted.pop(name)
        if link is not None:
            link.send(Leave(name))

    def forget(self, link: Link) -> None:
        """Drop the hints of a replica that is gone."""
        self._hinted.drop(link)

    async def places(self, prefixes: Sequence[Sequence[int]], *, tenant: str) -> list[TierId | None]:
        """Return, for each prefix, the nearest tier that any replica names."""
        ids = [list(each) for each in prefixes]
        found = await asyncio.gather(*(self._places_at(link, ids, tenant) for link in self._keeper.ready))
        order = {tier.id: rank for rank, tier in enumerate(all_tiers())}
        return [
            min((place for place in each if place is not None), key=lambda tier: order[tier], default=None)
            for each in zip(*found, strict=True)
        ] or [None] * len(ids)

    async def _places_at(self, link: Link, prefixes: list[list[int]], tenant: str) -> list[TierId | None]:
        try:
            places: list[TierId | None] = await link.call(lambda call: Places(call, prefixes, tenant))
        except ReplicaLostError:
            return [None] * len(prefixes)
        return places
