"""Which partly filled blocks went to the tiers below.

Full blocks are found by their keys. How far a block was filled that is not full cannot be told from the tokens of a new
request, so it is remembered here, for as long as the process lives: what is forgotten is computed again.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from cache_tiers.block_key import BlockKey
from cache_tiers.owned_keys import OwnedKeys
from cache_tiers.owners import Owners
from engine.kv.tail_index import TailIndex, TokenIds


@dataclass(frozen=True, slots=True)
class StoredTail:
    """index: of the block in its request. num_tokens: how many of its tokens are the request's too."""

    index: int
    key: BlockKey
    num_tokens: int


class StoredTails:
    """By the key of the block before it and by its tokens. At most `most` are remembered: the owner with most of them
    forgets its longest unused one.

    A run of less than `least` tokens is computed sooner than it is stored and fetched.
    """

    def __init__(self, owners: Owners, *, most: int, least: int) -> None:
        self._most = most
        self._least = least
        self._tails: TailIndex[BlockKey] = TailIndex()
        self._places: OwnedKeys[BlockKey, tuple[BlockKey, TokenIds]] = OwnedKeys(owners)

    def add(self, parent: BlockKey, key: BlockKey, token_ids: TokenIds) -> bool:
        """The block `key` behind `parent` holds these tokens; False if they are too few."""
        if len(token_ids) < self._least:
            return False
        self.drop(parent, token_ids)
        self._tails.add(parent, token_ids, key)
        self._places.put(key, (parent, token_ids))
        if len(self._places) > self._most:
            self._forget(self._places.next_to_go())
        return True

    def drop(self, parent: BlockKey, token_ids: TokenIds) -> None:
        """A block of these tokens follows `parent` now: those that it goes on from are needed no more."""
        for key in self._tails.begun_by(parent, token_ids):
            self._forget(key)

    def find(self, index: int, parent: BlockKey, known: TokenIds) -> StoredTail | None:
        """Block `index` of a request whose tokens from there on are `known`, as far as one was filled with them."""
        match = self._tails.find(parent, known)
        if match is None or match.num_tokens < self._least:
            return None
        self._places.use(match.tail)
        return StoredTail(index, match.tail, match.num_tokens)

    def tokens_of(self, key: BlockKey) -> TokenIds:
        """Return all tokens of one that was just found."""
        place = self._places.get(key)
        assert place is not None
        return place[1]

    def erase(self, keys: Iterable[BlockKey]) -> None:
        """Forget these, as far as they are known."""
        for key in keys:
            if key in self._places:
                self._forget(key)

    def _forget(self, key: BlockKey) -> None:
        place = self._places.pop(key)
        assert place is not None
        self._tails.remove(*place)
