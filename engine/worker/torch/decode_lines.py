"""Places of a step's rows in a decode graph, where every row is a sequence of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DecodeLines:
    """Lines of a graph for a step of B sequences and T rows.

    A drafted row attends to the keys up to its own, like a decode, and the keys of the rows before it are written by
    then. Each drafted row therefore has its own line, with the block table of its sequence. Lines 0 to B - 1 are the
    first rows of the sequences, so they have the same tables in steps with and without drafts. The other lines follow.

    rows: [T], the row of the flat batch in each line.
    owners: [T], the sequence of each line.
    lines: [T], the line of each row.
    seq_lens: number of keys of each line.
    """

    rows: Ints
    owners: Ints
    lines: Ints
    seq_lens: list[int]

    @classmethod
    def of(cls, query_lens: Sequence[int], seq_lens: Sequence[int]) -> "DecodeLines":
        """Assign lines to sequences of `query_lens` rows each, which are the last of `seq_lens` positions."""
        counts = np.array(query_lens, dtype=np.int64)
        sequences = np.repeat(np.arange(len(counts)), counts)
        firsts = np.cumsum(counts) - counts
        behind = np.arange(len(sequences)) - firsts[sequences]
        rows = np.concatenate((firsts, np.flatnonzero(behind)))
        lengths = np.array(seq_lens) - counts + 1
        return cls(rows, sequences[rows], np.argsort(rows), (lengths[sequences] + behind)[rows].tolist())
