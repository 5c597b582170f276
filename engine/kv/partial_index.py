"""Index of partly filled (partial) blocks by the block before them and by their tokens."""

import struct
from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, NamedTuple, TypeVar

from cache_tiers.owners.block_key import BlockKey

PackedIds = bytes

ID_BYTES: Final = 4


def packed(ids: Sequence[int]) -> PackedIds:
    """Pack token ids.

    Packed ids sort like the ids, because the first byte of an id is the highest one.
    """
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


Partial = TypeVar("Partial")


class Match(NamedTuple, Generic[Partial]):
    """A partial block that shares a prefix with the tokens of a request."""

    partial: Partial
    num_tokens: int
    """Length of the common prefix."""
    is_whole: bool
    """Whether the common prefix is the whole partial block."""


@dataclass(slots=True)
class _Siblings(Generic[Partial]):
    """The partial blocks that follow one block: by their tokens, and the tokens in sorted order."""

    partials: dict[PackedIds, Partial] = field(default_factory=dict)
    order: list[PackedIds] = field(default_factory=list)


class PartialIndex(Generic[Partial]):
    """Partial blocks by parent block.

    All chats that begin with the same system prompt follow one block, so a lookup among thousands of partial blocks
    must take microseconds.
    """

    def __init__(self) -> None:
        self._siblings: dict[BlockKey, _Siblings[Partial]] = {}

    def __len__(self) -> int:
        return sum(len(siblings.order) for siblings in self._siblings.values())

    def add(self, parent: BlockKey, token_ids: PackedIds, partial: Partial) -> None:
        """Add a partial block after `parent`. There must be none with the same tokens."""
        siblings = self._siblings.setdefault(parent, _Siblings())
        assert token_ids not in siblings.partials
        siblings.partials[token_ids] = partial
        insort(siblings.order, token_ids)

    def remove(self, parent: BlockKey, token_ids: PackedIds) -> Partial:
        """Remove and return the partial block of these tokens. Raise KeyError if there is none."""
        siblings = self._siblings[parent]
        partial = siblings.partials.pop(token_ids)
        del siblings.order[bisect_left(siblings.order, token_ids)]
        if not siblings.order:
            del self._siblings[parent]
        return partial

    def begun_by(self, parent: BlockKey, token_ids: PackedIds) -> list[Partial]:
        """List the partial blocks of `parent` that a block of `token_ids` replaces: their tokens are a prefix."""
        siblings = self._siblings.get(parent)
        if siblings is None:
            return []
        beginnings = (token_ids[:end] for end in range(ID_BYTES, len(token_ids) + 1, ID_BYTES))
        return [siblings.partials[beginning] for beginning in beginnings if beginning in siblings.partials]

    def find(self, parent: BlockKey, known: PackedIds) -> Match[Partial] | None:
        """Return the partial block that shares the longest prefix with `known`; None if none shares a token.

        In sorted order this partial block is next to the place of `known`.
        """
        siblings = self._siblings.get(parent)
        if siblings is None:
            return None
        place = bisect_left(siblings.order, known)
        nearest = siblings.order[max(0, place - 1) : place + 1]
        matches = [_match(siblings.partials[token_ids], token_ids, known) for token_ids in nearest]
        best = max(matches, key=lambda match: match.num_tokens, default=None)
        return best if best is not None and best.num_tokens else None

    def first(self, parent: BlockKey) -> Partial | None:
        """Return one of the partial blocks that follow `parent`; None if there is none."""
        siblings = self._siblings.get(parent)
        return siblings.partials[siblings.order[0]] if siblings is not None else None


def _match(partial: Partial, token_ids: PackedIds, known: PackedIds) -> Match[Partial]:
    shared = common_ids(token_ids, known)
    return Match(partial, shared, shared == num_ids(token_ids))
