"""Groups of decodes that are padded together: few, since each costs calls, and with little padding to read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

SHORT_BLOCKS: Final = 8
"""Up to this many blocks a sequence joins any group of such: a call costs more than the padding."""


@dataclass(frozen=True, slots=True)
class DecodeGroup:
    """Decodes padded together. members: ascending indices into the given lengths. num_blocks: blocks of the longest."""

    members: tuple[int, ...]
    num_blocks: int


def group_decodes(lengths: Sequence[int], block_size: int, max_blocks: int) -> list[DecodeGroup]:
    """Split so that padding at most doubles a sequence of more than SHORT_BLOCKS, and a group gathers <= max_blocks.

    A sequence that is longer than `max_blocks` is a group of its own.
    """
    blocks = [-(-length // block_size) for length in lengths]
    groups: list[DecodeGroup] = []
    members: list[int] = []
    longest = 0
    for index in sorted(range(len(blocks)), key=lambda i: (-blocks[i], i)):
        too_short = blocks[index] * 2 < longest and longest > SHORT_BLOCKS
        if members and (too_short or longest * (len(members) + 1) > max_blocks):
            groups.append(DecodeGroup(tuple(sorted(members)), longest))
            members = []
        if not members:
            longest = blocks[index]
        members.append(index)
    if members:
        groups.append(DecodeGroup(tuple(sorted(members)), longest))
    return groups
