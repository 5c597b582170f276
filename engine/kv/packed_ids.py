"""Token ids in four bytes each, for indexes that keep very many. As a tuple of integers they take ten times as much.

Packed ids sort like the ids, because the first byte of an id is the highest one.
"""

import struct
from collections.abc import Sequence
from typing import Final

PackedIds = bytes

ID_BYTES: Final = 4


def packed(ids: Sequence[int]) -> PackedIds:
    """Pack token ids."""
    return struct.pack(f">{len(ids)}I", *ids)


def unpacked(ids: PackedIds) -> tuple[int, ...]:
    """Return the token ids that were packed."""
    return struct.unpack(f">{num_ids(ids)}I", ids)


def num_ids(ids: PackedIds) -> int:
    """Return the number of packed ids."""
    return len(ids) // ID_BYTES


def common_ids(one: PackedIds, other: PackedIds) -> int:
    """Return the length of the common prefix, in ids."""
    pairs = enumerate(zip(memoryview(one).cast("I"), memoryview(other).cast("I"), strict=False))
    return next((at for at, (a, b) in pairs if a != b), num_ids(min(one, other, key=len)))
