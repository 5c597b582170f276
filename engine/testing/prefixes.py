"""Prefix operations of an engine without KV."""

import time
from collections.abc import Sequence

from cache_tiers.tier import TierId
from engine.api.promise import PromiseReport, PromiseRequest
from engine.api.stored_tokens import AnsweredText


class RecordedPrefixes:
    """A recorder of prefetch hints.

    place: what `places` reports for every prefix.
    warmed: tenant and token ids of each hint, by its name.
    asked: tenant and token ids of each prefix that `places` was asked for.
    promised: tenant, token ids and terms of each prefix that is kept, the last ones last.
    released: tenant, token ids and number of shared tokens of each release.
    recalled: tenant and text of each stored conversation whose answers were recalled.
    """

    def __init__(self, *, records: bool) -> None:
        """Create the recorder. records: False keeps nothing, so that memory stays level."""
        self.place: TierId | None = None
        self.warmed: dict[str, tuple[str, list[int]]] = {}
        self.asked: list[tuple[str, list[int]]] = []
        self.promised: list[tuple[str, list[int], PromiseRequest]] = []
        self.released: list[tuple[str, list[int], int]] = []
        self.recalled: list[tuple[str, AnsweredText]] = []
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

    async def promise(
        self, token_ids: Sequence[int], wanted: PromiseRequest, *, tenant: str, patience: float
    ) -> PromiseReport:
        """Promise all tokens, if any bytes are reserved."""
        del patience
        if self._records:
            self.promised.append((tenant, list(token_ids), wanted))
        until = time.time() + wanted.seconds
        if not wanted.reserved_bytes:
            return PromiseReport(0, len(token_ids), wanted.seconds, until, "no_reservation")
        return PromiseReport(len(token_ids), 0, wanted.seconds, until, None)

    async def release(self, token_ids: Sequence[int], *, num_shared: int, tenant: str) -> bool:
        """Record the release."""
        if self._records:
            self.released.append((tenant, list(token_ids), num_shared))
        return True

    async def recall(self, text: AnsweredText, *, tenant: str) -> None:
        """Record the text."""
        if self._records:
            self.recalled.append((tenant, text))
