"""Prefetch hints and places of prompts over all replicas."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress

from cache_tiers.registry import all_tiers
from cache_tiers.tier import TierId
from engine.api.promise import PromiseReport, PromiseRequest
from engine.api.stored_tokens import AnsweredText
from engine.fleet.gateway.keeper import ReplicaKeeper
from engine.fleet.gateway.link import Link, ReplicaLostError
from engine.fleet.replica.live_hints import LiveHints
from engine.fleet.routing.prompt_names import PromptNames
from engine.fleet.routing.router import RoutedPrompt, Router
from engine.fleet.wire.messages import Keep, Leave, Places, Recall, Release, Warm


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

    async def promise(
        self, token_ids: Sequence[int], wanted: PromiseRequest, *, tenant: str, patience: float
    ) -> PromiseReport:
        """Have the disk of each replica keep the blocks that it has. Return the report of the one that keeps the most.

        Replicas of one machine have the same disk, and the others may answer the next question from theirs.
        """
        ids = list(token_ids)
        calls = (self._promise_at(link, ids, wanted, tenant, patience) for link in self._keeper.ready)
        reports = [each for each in await asyncio.gather(*calls) if each is not None]
        if not reports:
            return PromiseReport(0, len(ids), wanted.seconds, time.time() + wanted.seconds, "disk_away")
        return max(reports, key=lambda report: (report.num_tokens, -report.num_declined))

    async def release(self, token_ids: Sequence[int], *, num_shared: int, tenant: str) -> bool:
        """End the promises of a prompt's blocks on the disks of all replicas. Return False if one is away."""
        ids = list(token_ids)
        links = self._keeper.ready
        released = await asyncio.gather(*(self._release_at(link, ids, num_shared, tenant) for link in links))
        return bool(released) and all(released)

    async def recall(self, text: AnsweredText, *, tenant: str) -> None:
        """Have the drafts of each replica guess what the answers of a stored conversation repeat."""
        ids, spans = list(text.token_ids), list(text.spans)
        await asyncio.gather(*(self._recall_at(link, ids, spans, tenant) for link in self._keeper.ready))

    async def _recall_at(self, link: Link, ids: list[int], spans: list[tuple[int, int]], tenant: str) -> None:
        with suppress(ReplicaLostError):
            await link.call(lambda call: Recall(call, ids, spans, tenant))

    async def _promise_at(
        self, link: Link, ids: list[int], wanted: PromiseRequest, tenant: str, patience: float
    ) -> PromiseReport | None:
        try:
            report: PromiseReport = await link.call(lambda call: Keep(call, ids, wanted, tenant, patience))
        except ReplicaLostError:
            return None
        return report

    async def _release_at(self, link: Link, ids: list[int], num_shared: int, tenant: str) -> bool:
        try:
            return bool(await link.call(lambda call: Release(call, ids, num_shared, tenant)))
        except ReplicaLostError:
            return False
