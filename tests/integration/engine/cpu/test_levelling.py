"""Factors that level the columns of matrices."""

import torch

from engine.cpu.levelling import LARGEST_EXPONENT, column_factors


def test_columns_become_nearly_equal_by_powers_of_two() -> None:
    generator = torch.Generator().manual_seed(1)
    sizes = 2.0 ** torch.randint(-3, 4, (64,), generator=generator)
    matrices = [(torch.randn(1500, 64, generator=generator) * sizes).to(torch.bfloat16) for _ in range(2)]
    factors = column_factors(matrices)
    assert torch.equal(factors.log2().round(), factors.log2())
    levelled = (torch.cat(matrices).float() * factors).norm(dim=0)
    assert levelled.max() < 2.1 * levelled.min()


def test_extreme_columns_have_finite_factors() -> None:
    matrix = torch.ones(3, 5, dtype=torch.bfloat16)
    assert column_factors([matrix * 0]).tolist() == [1] * 5
    matrix[:, 1], matrix[:, 2] = 0, 1e6
    factors = column_factors([matrix])
    assert factors[1] == 2**LARGEST_EXPONENT
    assert factors[2] < 1
    assert factors.isfinite().all()
