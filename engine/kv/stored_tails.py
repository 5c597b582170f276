"""Which partly filled blocks went to the tiers below.

Full blocks are found by their keys. How far a block was filled that is not full cannot be told from the tokens of a new
request, so it is remembered here, for as long as the process lives: what is forgotten is computed again.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from cache_tiers.block_key import BlockKey, block_key
from engine.kv.block import num_equal


@dataclass(frozen=True, slots=True)
class StoredTail:
    """index: of the block in its request. num_tokens: how many of its tokens are the request's too."""

    index: int
    key: BlockKey
    num_tokens: int


class StoredTails:
    """By the key of the block before it, the newest one's tokens. Of more than `most` the longest unused is forgotten.

    A run of less than `least` tokens is computed sooner than it is stored and fetched.
    """

    def __init__(self, *, most: int, least: int) -> None:
        self._most = most
        self._least = least
        self._token_ids: OrderedDict[BlockKey, tuple[int, ...]] = OrderedDict()

    def add(self, parent: BlockKey, token_ids: tuple[int, ...]) -> bool:
        """A block behind `parent` holds these tokens; False if they are too few."""
        if len(token_ids) < self._least:
            return False
        self._token_ids[parent] = token_ids
        self._token_ids.move_to_end(parent)
        if len(self._token_ids) > self._most:
            self._token_ids.popitem(last=False)
        return True

    def drop(self, parent: BlockKey) -> None:
        """A full block follows `parent` now."""
        self._token_ids.pop(parent, None)

    def find(self, index: int, parent: BlockKey, known: Sequence[int]) -> StoredTail | None:
        """Block `index` of a request whose tokens from there on are `known`, as far as it was filled."""
        token_ids = self._token_ids.get(parent)
        if token_ids is None:
            return None
        shared = num_equal(token_ids, known)
        if shared < self._least:
            return None
        self._token_ids.move_to_end(parent)
        return StoredTail(index, block_key(parent, token_ids), shared)
