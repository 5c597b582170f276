"""Fused layers of a GPU, interpreted and compared with plain torch."""

from collections.abc import Callable

import pytest
import torch

from models.layers.cuda import cuda_layers
from models.layers.kinds import TORCH_LAYERS, LayerKinds
from models.layers.rms_norm import RMSNorm

CPU = torch.device("cpu")
FUSED = cuda_layers()
DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)


def random(*shape: int, dtype: torch.dtype, seed: int = 1) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def assert_near(found: torch.Tensor, expected: torch.Tensor) -> None:
    """Assert equality up to a few roundings of the type: the interpreter cuts off what bfloat16 does not hold."""
    assert found.dtype == expected.dtype
    tolerance = 1e-5 if found.dtype == torch.float32 else 3e-2
    torch.testing.assert_close(found, expected, atol=tolerance, rtol=tolerance)


def both(make: Callable[[LayerKinds], RMSNorm], size: int, dtype: torch.dtype) -> tuple[RMSNorm, RMSNorm]:
    made = make(FUSED), make(TORCH_LAYERS)
    for norm in made:
        norm.weight.copy_(random(size, dtype=dtype, seed=2))
    return made


@DTYPES
@pytest.mark.parametrize("size", [64, 100])
def test_norm_with_and_without_sum_matches_torch(size: int, dtype: torch.dtype) -> None:
    ours, plain = both(lambda kinds: kinds.rms_norm(size, 1e-5, dtype=dtype, device=CPU), size, dtype)
    x, change = random(5, size, dtype=dtype), random(5, size, dtype=dtype, seed=3)
    assert_near(ours(x), plain(x))
    assert torch.equal(x, random(5, size, dtype=dtype))
    kept = x.clone()
    normed, total = ours.add(x, change)
    assert total is x
    for found, expected in zip((normed, total), plain.add(kept, change), strict=True):
        assert_near(found, expected)


@DTYPES
@pytest.mark.parametrize(("heads", "dim", "rotary_dim"), [(8, 128, 0), (3, 80, 0), (2, 64, 32)])
def test_rotation_of_heads_in_a_merged_row_matches_torch(
    heads: int, dim: int, rotary_dim: int, dtype: torch.dtype
) -> None:
    ours, plain = (kinds.rotary(dim, 64, 1e4, None, CPU, rotary_dim) for kinds in (FUSED, TORCH_LAYERS))
    positions = torch.tensor([0, 5, 63, 1])
    x = random(4, (heads + 2) * dim, dtype=dtype)[:, dim : (heads + 1) * dim].unflatten(1, (heads, dim))
    turned = ours.rotate(x, ours.rows(positions))
    assert turned.is_contiguous()
    assert_near(turned, plain.rotate(x, plain.rows(positions)))
    assert torch.equal(turned[0], x[0])


@DTYPES
@pytest.mark.parametrize("inner", [32, 1500])
def test_gate_matches_torch(inner: int, dtype: torch.dtype) -> None:
    gate_up = random(5, 2 * inner, dtype=dtype)
    assert_near(FUSED.swiglu(gate_up), TORCH_LAYERS.swiglu(gate_up))
