"""Index of partly filled blocks (tails) by the block before them and by their tokens."""

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from cache_tiers.block_key import BlockKey
from engine.kv_block import num_equal

Tail = TypeVar("Tail")
TokenIds = tuple[int, ...]


class Match(NamedTuple, Generic[Tail]):
    """A tail that shares a prefix with the tokens of a request."""

    tail: Tail
    num_tokens: int
    """Length of the common prefix."""
    is_whole: bool
    """Whether the common prefix is the whole tail."""


@dataclass(slots=True)
class _Siblings(Generic[Tail]):
    """The tails that follow one block: by their tokens, and the tokens in sorted order."""

    tails: dict[TokenIds, Tail] = field(default_factory=dict)
    order: list[TokenIds] = field(default_factory=list)


class TailIndex(Generic[Tail]):
    """Tails by parent block.

    All chats that begin with the same system prompt follow one block, so a lookup among thousands must take
    microseconds.
    """

    def __init__(self) -> None:
        self._siblings: dict[BlockKey, _Siblings[Tail]] = {}

    def __len__(self) -> int:
        return sum(len(siblings.order) for siblings in self._siblings.values())

    def add(self, parent: BlockKey, token_ids: TokenIds, tail: Tail) -> None:
        """Add a tail after `parent`. There must be none with the same tokens."""
        siblings = self._siblings.setdefault(parent, _Siblings())
        assert token_ids not in siblings.tails
        siblings.tails[token_ids] = tail
        insort(siblings.order, token_ids)

    def remove(self, parent: BlockKey, token_ids: TokenIds) -> Tail:
        """Remove and return the tail of these tokens. Raises KeyError if there is none."""
        siblings = self._siblings[parent]
        tail = siblings.tails.pop(token_ids)
        del siblings.order[bisect_left(siblings.order, token_ids)]
        if not siblings.order:
            del self._siblings[parent]
        return tail

    def begun_by(self, parent: BlockKey, token_ids: TokenIds) -> list[Tail]:
        """List the tails of `parent` that are a prefix of `token_ids`: a block of all these tokens replaces them."""
        siblings = self._siblings.get(parent)
        if siblings is None:
            return []
        beginnings = (token_ids[:length] for length in range(1, len(token_ids) + 1))
        return [siblings.tails[beginning] for beginning in beginnings if beginning in siblings.tails]

    def find(self, parent: BlockKey, known: TokenIds) -> Match[Tail] | None:
        """Return the tail that shares the longest prefix with `known`; None if none shares a token.

        In sorted order this tail is next to the place of `known`.
        """
        siblings = self._siblings.get(parent)
        if siblings is None:
            return None
        place = bisect_left(siblings.order, known)
        nearest = siblings.order[max(0, place - 1) : place + 1]
        matches = [_match(siblings.tails[token_ids], token_ids, known) for token_ids in nearest]
        best = max(matches, key=lambda match: match.num_tokens, default=None)
        return best if best is not None and best.num_tokens else None

    def first(self, parent: BlockKey) -> Tail | None:
        """Return one of the tails that follow `parent`; None if there is none."""
        siblings = self._siblings.get(parent)
        return siblings.tails[siblings.order[0]] if siblings is not None else None


def _match(tail: Tail, token_ids: TokenIds, known: Sequence[int]) -> Match[Tail]:
    shared = num_equal(token_ids, known)
    return Match(tail, shared, shared == len(token_ids))
