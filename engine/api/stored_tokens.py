"""Blocks that requests left in the tiers, described by tokens, as the caller knows them."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trail:
    """Tokens that consecutive requests computed, each continuing the one before.

    num_shared: leading tokens that another prompt begins with too. Full blocks of these tokens are kept.
    ends: number of tokens computed when each request ended, where it may have left a partly filled block.
    model: name of the model that computed them; None for the only one.
    """

    token_ids: Sequence[int]
    num_shared: int = 0
    ends: Sequence[int] = ()
    model: str | None = None


@dataclass(frozen=True, slots=True)
class AnsweredText:
    """Tokens of a stored conversation, and its answers.

    spans: for each answer, the number of tokens before it, and the number including it.
    """

    token_ids: Sequence[int]
    spans: Sequence[tuple[int, int]]
