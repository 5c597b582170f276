"""Levelling of the columns of matrices before they are quantized.

A group of 32 weights has one scale, so a column that is much larger than its neighbours leaves them few values. Where a
norm precedes the matrices, columns can have nearly the same size: the norm's weight is divided by what they are
multiplied by.
"""

from collections.abc import Sequence
from typing import Final

import torch

ROWS_AT_ONCE: Final = 1024
"""Rows of a matrix that are converted at a time. They are whole panels."""
LARGEST_EXPONENT: Final = 8


def column_factors(matrices: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return the factors of the columns, float32 [columns]. They are powers of 2, so no weight is rounded.

    matrices: [rows, columns] each. The size of a column is its norm over all of them.
    """
    squares = torch.zeros(matrices[0].shape[1])
    for matrix in matrices:
        for rows in matrix.split(ROWS_AT_ONCE):
            squares += rows.float().square().sum(dim=0)
    sizes = squares.sqrt()
    # The quotient of a column of zeros is infinite. If all weights are zeros, it is not a number.
    exponents = (sizes.mean() / sizes).log2().round().nan_to_num(0).clamp(-LARGEST_EXPONENT, LARGEST_EXPONENT)
    return torch.ldexp(torch.ones_like(exponents), exponents)
