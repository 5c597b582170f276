"""Partly filled blocks, found by what lies before them and by the tokens that they share with a request."""

from collections.abc import Callable, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from cache_tiers.block_key import BlockKey
from engine.kv.block import num_equal

Tail = TypeVar("Tail")

MOST_OF_PARENT: Final = 32
"""Chats whose tails follow one block: all that begin with one system prompt. They are looked at one by one."""


class Match(NamedTuple, Generic[Tail]):
    """num_tokens: of the common beginning; it is_whole if all of the tail's tokens are in it."""

    tail: Tail
    num_tokens: int
    is_whole: bool


class TailIndex(Generic[Tail]):
    """For each key of a block, the tails that follow it, the newest last."""

    def __init__(self) -> None:
        self._tails: dict[BlockKey, list[tuple[Tail, tuple[int, ...]]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._tails.values()))

    def add(self, parent: BlockKey, tail: Tail, token_ids: tuple[int, ...]) -> None:
        """A tail of these tokens follows `parent`."""
        self._tails.setdefault(parent, []).append((tail, token_ids))

    def begun_by(self, parent: BlockKey, token_ids: Sequence[int]) -> list[Tail]:
        """The tails whose place a longer one, or a full block, of these tokens takes."""
        return [tail for tail, held in self._tails.get(parent, ()) if tuple(token_ids[: len(held)]) == held]

    def too_many(self, parent: BlockKey) -> list[Tail]:
        """The oldest, as far as there is no place for another one."""
        tails = self._tails.get(parent, ())
        return [tail for tail, _ in tails[: max(0, len(tails) - MOST_OF_PARENT + 1)]]

    def remove(self, parent: BlockKey, tail: Tail) -> None:
        """It is gone. Raises KeyError, ValueError if it is not here."""
        left = [(other, held) for other, held in self._tails[parent] if other is not tail]
        if len(left) == len(self._tails[parent]):
            raise ValueError("no such tail")
        if left:
            self._tails[parent] = left
        else:
            del self._tails[parent]

    def find(self, parent: BlockKey, known: Sequence[int], usable: Callable[[Tail], bool]) -> Match[Tail] | None:
        """The usable one that shares most with `known`, of equal ones the newest; None if none shares anything."""
        best: Match[Tail] | None = None
        for tail, held in self._tails.get(parent, ()):
            shared = num_equal(held, known) if usable(tail) else 0
            if shared and (best is None or shared >= best.num_tokens):
                best = Match(tail, shared, shared == len(held))
        return best
