"""Names of the prefixes of prompts, as replicas publish them."""

import asyncio
from collections.abc import Sequence
from typing import Final

from cache_tiers.owners.block_key import BlockKey
from engine.api.stored_tokens import Trail
from engine.fleet.wire.messages import ReplicaFacts
from engine.fleet.wire.report import name_of
from engine.intake.prefix_keys import PrefixKeys, TenantSalts
from models.adapters.adapter import Adapter

LONG_PROMPT: Final = 8192
"""Prompt length in tokens from which hashing takes about a millisecond."""


class PromptNames:
    """Maker of names. They are exact, since the gateway has the token ids and the salts.

    has_prefixes: False if the replicas reuse no prefix, so that no prompt has names.
    """

    def __init__(self, salts: TenantSalts, *, has_prefixes: bool) -> None:
        self._salts = salts
        self._has_prefixes = has_prefixes
        self._keys: PrefixKeys | None = None

    def learn(self, facts: ReplicaFacts) -> None:
        """Take the namespace of the replicas, which all of them share."""
        if self._keys is None:
            self._keys = PrefixKeys(facts.namespace, self._salts, facts.public_ids, adapters=facts.adapters)

    @property
    def keys(self) -> PrefixKeys:
        """Maker of the block keys. A replica must have served before."""
        assert self._keys is not None
        return self._keys

    async def of(
        self, token_ids: Sequence[int], tenant: str, adapter: Adapter | None = None, num_prompt: int | None = None
    ) -> list[int]:
        """Return the names of the prefixes of a tenant's prompt, by their number of blocks.

        A long prompt is hashed on another thread.

        adapter, num_prompt: as for `PrefixKeys.of`.
        """
        if self._keys is None or not self._has_prefixes:
            return []
        if len(token_ids) < LONG_PROMPT:
            return _named(self._keys.of(token_ids, tenant, adapter, num_prompt))
        return _named(await asyncio.to_thread(self._keys.of, token_ids, tenant, adapter, num_prompt))

    async def keys_of_trails(self, trails: Sequence[Trail], tenant: str) -> list[BlockKey]:
        """Return the keys of the blocks that only these trails of a tenant use. A replica must have served before."""
        return await asyncio.to_thread(self.keys.of_trails, trails, tenant)


def _named(keys: Sequence[BlockKey]) -> list[int]:
    return [name_of(key) for key in keys]
