"""A prompt prefix that an administrator declared public, whose full blocks all tenants share."""

from collections.abc import Sequence
from dataclasses import dataclass

from cache_tiers.owners.block_key import BlockKey, KeyNamespace, extend_keys


@dataclass(frozen=True, slots=True)
class PublicPrefix:
    """Tokens and keys of the public prefix.

    root_key: the parent of the first block.
    keys: keys of the full blocks, at least one.
    """

    token_ids: tuple[int, ...]
    root_key: BlockKey
    keys: tuple[BlockKey, ...]

    @classmethod
    def of(cls, token_ids: Sequence[int], namespace: KeyNamespace) -> "PublicPrefix":
        """Create the prefix. `namespace` has no tenant's salt. Raise ValueError if the tokens do not fill a block."""
        root = namespace.root()
        keys = extend_keys(root, token_ids, namespace.block_size)
        if not keys:
            raise ValueError(f"{len(token_ids)} tokens do not fill a block of {namespace.block_size}")
        return cls(tuple(token_ids), root, tuple(keys))

    def begins(self, token_ids: Sequence[int]) -> bool:
        """Return True if `token_ids` begin with the whole prefix."""
        return tuple(token_ids[: len(self.token_ids)]) == self.token_ids
