"""Tokens that may not come next: their words of bits, and the ends of phrases that are barred."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]
"""[W]: bit i % 32 of word i // 32 says whether id i may come; what is missing at the end counts as 0."""


def words_from_bytes(mask: bytes) -> Words:
    """Return a read-only view of `mask` as words."""
    words: Words = np.frombuffer(mask, dtype="<u4")
    return words


def words_of_ids(ids: npt.ArrayLike, vocab_size: int) -> Words:
    """Return words in which the bits of `ids` are set."""
    allowed = np.zeros(-(-vocab_size // 32) * 32, dtype=np.bool_)
    allowed[np.asarray(ids, dtype=np.int64)] = True
    words: Words = np.packbits(allowed, bitorder="little").view("<u4")
    return words


def ends_of_phrases(phrases: Sequence[Sequence[int]], token_ids: Sequence[int]) -> tuple[int, ...]:
    """Return the ids that would complete one of `phrases` after `token_ids`. Phrases of one token are left out."""
    return tuple(
        {
            phrase[-1]
            for phrase in phrases
            if 1 < len(phrase) <= len(token_ids) + 1 and list(token_ids[1 - len(phrase) :]) == list(phrase[:-1])
        }
    )
