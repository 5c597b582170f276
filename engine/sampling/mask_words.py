"""Sets of token ids as packed bits, in the words that a TokenMask makes and the kernels read."""

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
