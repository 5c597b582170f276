"""Index of the partly filled (partial) blocks that were stored in the tiers below.

Full blocks are found by their keys. A partial block's key depends on how far the block was filled, which the tokens of
a new request do not tell. So the index keeps the tokens of partial blocks, in memory only; a partial block that is not
in it is recomputed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cache_tiers.owners.block_key import BlockKey
from cache_tiers.owners.owners import Owners
from cache_tiers.owners.shares import OwnedKeys
from engine.kv.partial_index import PackedIds, PartialIndex, packed, unpacked


@dataclass(frozen=True, slots=True)
class StoredPartial:
    """A stored partial block that matches tokens of a request."""

    index: int
    """Index of the block in the request's table."""
    key: BlockKey
    num_tokens: int
    """Leading tokens of the partial block that are equal to the request's."""


class StoredPartials:
    """Stored partial blocks by the key of the block before them and by their tokens.

    most: partial blocks to keep; beyond that, the owner with the most partial blocks drops its least recently used one.
    least: fewest tokens of a partial block that is worth storing; fewer are recomputed faster than they are stored and
    fetched.
    """

    def __init__(self, owners: Owners, *, most: int, least: int) -> None:
        self._most = most
        self._least = least
        self._partials: PartialIndex[BlockKey] = PartialIndex()
        self._places: OwnedKeys[BlockKey, tuple[BlockKey, PackedIds]] = OwnedKeys(owners)

    def add(self, parent: BlockKey, key: BlockKey, token_ids: Sequence[int]) -> bool:
        """Add the partial block `key` of `parent`. Return False if it has too few tokens to be stored."""
        if len(token_ids) < self._least:
            return False
        self.drop(parent, token_ids)
        ids = packed(token_ids)
        self._partials.add(parent, ids, key)
        self._places.put(key, (parent, ids))
        if len(self._places) > self._most:
            self._forget(self._places.next_to_go())
        return True

    def drop(self, parent: BlockKey, token_ids: Sequence[int]) -> None:
        """Drop the partial blocks of `parent` that a block of `token_ids` replaces, because theirs are a prefix."""
        for key in self._partials.begun_by(parent, packed(token_ids)):
            self._forget(key)

    def find(self, index: int, parent: BlockKey, known: Sequence[int]) -> StoredPartial | None:
        """Return the partial block of `parent` that shares the longest prefix with `known`; None if it is too short.

        index: index of the block in the request. known: the request's tokens from that block on.
        """
        match = self._partials.find(parent, packed(known))
        if match is None or match.num_tokens < self._least:
            return None
        self._places.use(match.partial)
        return StoredPartial(index, match.partial, match.num_tokens)

    def tokens_of(self, key: BlockKey) -> tuple[int, ...]:
        """Return all tokens of a partial block that was just found."""
        place = self._places.get(key)
        assert place is not None
        return unpacked(place[1])

    def erase(self, keys: Iterable[BlockKey]) -> None:
        """Erase the partial blocks of `keys`; unknown keys are ignored."""
        for key in keys:
            if key in self._places:
                self._forget(key)

    def _forget(self, key: BlockKey) -> None:
        place = self._places.pop(key)
        assert place is not None
        self._partials.remove(*place)
