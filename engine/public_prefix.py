"""A beginning of prompts that an administrator declared public: its full blocks are every tenant's."""

from collections.abc import Sequence
from dataclasses import dataclass

from cache_tiers.block_key import BlockKey, KeyNamespace, extend_keys


@dataclass(frozen=True, slots=True)
class PublicPrefix:
    """root_key: the parent of its first block. keys: of its full blocks, at least one."""

    token_ids: tuple[int, ...]
    root_key: BlockKey
    keys: tuple[BlockKey, ...]

    @classmethod
    def of(cls, token_ids: Sequence[int], namespace: KeyNamespace) -> "PublicPrefix":
        """`namespace` holds a salt that is no tenant's. Raises ValueError if the tokens do not fill a block."""
        root = namespace.root()
        keys = extend_keys(root, token_ids, namespace.block_size)
        if not keys:
            raise ValueError(f"{len(token_ids)} tokens do not fill a block of {namespace.block_size}")
        return cls(tuple(token_ids), root, tuple(keys))

    def begins(self, token_ids: Sequence[int]) -> bool:
        """Whether all of it stands at their beginning."""
        return tuple(token_ids[: len(self.token_ids)]) == self.token_ids
