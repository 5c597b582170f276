"""Prefix operations of an engine without KV."""

from collections.abc import Sequence

from cache_tiers.tier import TierId


class RecordedPrefixes:
    """A recorder of prefetch hints.

    place: what `places` reports for every prefix.
    warmed: tenant and token ids of each hint, by its name.
    asked: tenant and token ids of each prefix that `places` was asked for.
    """

    def __init__(self, *, records: bool) -> None:
        """Create the recorder. records: False keeps nothing, so that memory stays level."""
        self.place: TierId | None = None
        self.warmed: dict[str, tuple[str, list[int]]] = {}
        self.asked: list[tuple[str, list[int]]] = []
        self._records = records

    async def warm(self, name: str, token_ids: Sequence[int], *, tenant: str) -> bool:
        """Record a hint. Return whether it was recorded."""
        if self._records:
            self.warmed[name] = (tenant, list(token_ids))
        return self._records

    def leave(self, name: str) -> None:
        """Forget a hint."""
        self.warmed.pop(name, None)

    async def places(self, prefixes: Sequence[Sequence[int]], *, tenant: str) -> list[TierId | None]:
        """Return `place` for each prefix."""
        if self._records:
            self.asked += [(tenant, list(token_ids)) for token_ids in prefixes]
        return [self.place] * len(prefixes)
