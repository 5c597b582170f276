"""The bytes of cache memory that tenants hold, as few enough numbers for a metric."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from cache_tiers.owners.block_key import Owner
from cache_tiers.owners.owners import Owners

MAX_NAMED: Final = 8
OTHERS: Final = "(others)"
"""Name for all tenants that are not among the largest, and for those whose name has been forgotten."""


def tenant_bytes(held: Mapping[Owner, int], owners: Owners, block_nbytes: int) -> dict[str, int]:
    """Add up `held`, in blocks, by the names of the `MAX_NAMED` largest tenants and of all others together."""
    by_name: Counter[str] = Counter()
    for owner, blocks in held.items():
        by_name[owners.name(owner) or OTHERS] += blocks
    others = by_name.pop(OTHERS, 0)
    named = by_name.most_common(MAX_NAMED)
    others += by_name.total() - sum(blocks for _, blocks in named)
    if others:
        named.append((OTHERS, others))
    return {name: blocks * block_nbytes for name, blocks in named}
