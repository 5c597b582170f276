"""Index of the partly filled blocks (tails) that were stored in the tiers below.

Full blocks are found by their keys. A tail's key depends on how far the block was filled, which the tokens of a new
request do not tell. So the index keeps the tokens of tails, in memory only; a tail that is not in it is recomputed.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from cache_tiers.block_key import BlockKey
from cache_tiers.owned_keys import OwnedKeys
from cache_tiers.owners import Owners
from engine.kv.tail_index import TailIndex, TokenIds


@dataclass(frozen=True, slots=True)
class StoredTail:
    """A stored tail that matches tokens of a request."""

    index: int
    """Index of the block in the request's table."""
    key: BlockKey
    num_tokens: int
    """Leading tokens of the tail that are equal to the request's."""


class StoredTails:
    """Stored tails by the key of the block before them and by their tokens.

    most: tails to keep; beyond that, the owner with the most tails drops its least recently used one. least: fewest
    tokens of a tail that is worth storing; fewer are recomputed faster than they are stored and fetched.
    """

    def __init__(self, owners: Owners, *, most: int, least: int) -> None:
        self._most = most
        self._least = least
        self._tails: TailIndex[BlockKey] = TailIndex()
        self._places: OwnedKeys[BlockKey, tuple[BlockKey, TokenIds]] = OwnedKeys(owners)

    def add(self, parent: BlockKey, key: BlockKey, token_ids: TokenIds) -> bool:
        """Add the tail `key` of `parent`. Return False if it has too few tokens to be stored."""
        if len(token_ids) < self._least:
            return False
        self.drop(parent, token_ids)
        self._tails.add(parent, token_ids, key)
        self._places.put(key, (parent, token_ids))
        if len(self._places) > self._most:
            self._forget(self._places.next_to_go())
        return True

    def drop(self, parent: BlockKey, token_ids: TokenIds) -> None:
        """Drop the tails of `parent` whose tokens are a prefix of `token_ids`, because a longer block replaces them."""
        for key in self._tails.begun_by(parent, token_ids):
            self._forget(key)

    def find(self, index: int, parent: BlockKey, known: TokenIds) -> StoredTail | None:
        """Return the tail of `parent` that shares the longest prefix with `known`; None if it is too short.

        index: index of the block in the request. known: the request's tokens from that block on.
        """
        match = self._tails.find(parent, known)
        if match is None or match.num_tokens < self._least:
            return None
        self._places.use(match.tail)
        return StoredTail(index, match.tail, match.num_tokens)

    def tokens_of(self, key: BlockKey) -> TokenIds:
        """Return all tokens of a tail that was just found."""
        place = self._places.get(key)
        assert place is not None
        return place[1]

    def erase(self, keys: Iterable[BlockKey]) -> None:
        """Erase the tails of `keys`; unknown keys are ignored."""
        for key in keys:
            if key in self._places:
                self._forget(key)

    def _forget(self, key: BlockKey) -> None:
        place = self._places.pop(key)
        assert place is not None
        self._tails.remove(*place)
