import pytest
import torch

from engine.attention.backend import AttentionSpec
from engine.attention.cpu import CpuAttention
from engine.attention.reference import ReferenceAttention
from engine.attention.selector import BACKENDS, load_backend, select_backend
from engine.errors import EngineError


def spec(device: str, dtype: torch.dtype) -> AttentionSpec:
    return AttentionSpec(device, dtype, 8, 2, 64)


def test_a_cpu_gets_the_cpu_backend() -> None:
    assert select_backend(spec("cpu", torch.bfloat16)) is CpuAttention


@pytest.mark.parametrize(("device", "dtype"), [("cuda", torch.bfloat16), ("cpu", torch.float16)])
def test_what_no_fast_backend_serves_falls_to_the_reference(device: str, dtype: torch.dtype) -> None:
    assert select_backend(spec(device, dtype)) is ReferenceAttention


def test_every_name_in_the_table_loads_and_has_numerics_of_its_own() -> None:
    assert len({load_backend(name).numerics for name in BACKENDS}) == len(BACKENDS)


def test_an_unknown_name_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(EngineError, match="cpu, reference"):
        load_backend("flash")
