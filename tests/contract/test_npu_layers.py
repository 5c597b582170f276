"""A decoder's small layers with fused operators, compared with plain torch, which replaces a missing operator."""

import pytest
import torch

from models.layers import npu, npu_limits
from models.layers.kinds import TORCH_LAYERS, LayerKinds
from models.layers.npu import npu_layers
from models.layers.npu_limits import OperatorLimitError
from models.layers.rms_norm import RMSNorm
from tests.contract.npu_operators import NpuOperators

CPU = torch.device("cpu")
BF16 = torch.bfloat16


@pytest.fixture
def fused(npu_operators: NpuOperators) -> LayerKinds:
    npu_operators.calls.clear()
    return npu_layers(check=True)


def random(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(BF16)


def norms(fused: LayerKinds) -> tuple[RMSNorm, RMSNorm]:
    made = fused.rms_norm(64, 1e-5, dtype=BF16, device=CPU), RMSNorm(64, 1e-5, dtype=BF16, device=CPU)
    for norm in made:
        norm.weight.copy_(random(64, seed=2))
    return made


def test_norm_with_and_without_sum_matches_torch(fused: LayerKinds, npu_operators: NpuOperators) -> None:
    ours, plain = norms(fused)
    x, change = random(5, 64), random(5, 64, seed=3)
    assert torch.equal(ours(x), plain(x))
    normed, total = ours.add(x, change)
    expected = plain.add(x.clone(), change)
    assert torch.equal(total, expected[1])
    assert torch.equal(normed, expected[0])
    assert torch.equal(x, random(5, 64))
    assert npu_operators.calls == ["npu_rms_norm", "npu_add_rms_norm"]


def test_rotation_of_query_and_key_heads_matches_torch(fused: LayerKinds, npu_operators: NpuOperators) -> None:
    """Compare within a tolerance, because the operator takes cos and sin rounded to bfloat16."""
    ours, plain = (kinds.rotary(128, 64, 16e6, None, CPU) for kinds in (fused, TORCH_LAYERS))
    positions = torch.tensor([0, 5, 63, 1])
    x = random(4, 8, 128)
    turned = ours.rotate(x, ours.rows(positions))
    assert turned.shape == x.shape
    torch.testing.assert_close(turned, plain.rotate(x, plain.rows(positions)), atol=2e-2, rtol=2e-2)
    assert torch.equal(turned[0], x[0])
    assert npu_operators.calls == ["npu_rotary_mul"]


def test_gate_matches_torch(fused: LayerKinds, npu_operators: NpuOperators) -> None:
    gate_up = random(5, 64)
    torch.testing.assert_close(fused.swiglu(gate_up), TORCH_LAYERS.swiglu(gate_up), atol=1e-2, rtol=1e-2)
    assert npu_operators.calls == ["npu_swiglu"]


def test_disabled_check_leaves_only_check_of_operator(
    npu_operators: NpuOperators, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[object] = []
    monkeypatch.setattr(npu_limits, "check_swiglu", checked.append)
    npu_layers(check=False).swiglu(random(5, 64))
    assert len(checked) == 1, "only the operator itself may check its arguments"
    npu_layers(check=True).swiglu(random(5, 64))
    assert len(checked) == 3


def test_checked_layer_refuses_before_calling_operator(fused: LayerKinds, npu_operators: NpuOperators) -> None:
    with pytest.raises(OperatorLimitError, match="npu_swiglu: the last dimension 63"):
        fused.swiglu(random(5, 63))
    assert npu_operators.calls == []


@pytest.mark.parametrize(
    ("missing", "kind"),
    [
        ("npu_rms_norm", "rms_norm"),
        ("npu_add_rms_norm", "rms_norm"),
        ("npu_rotary_mul", "rotary"),
        ("npu_swiglu", "swiglu"),
    ],
)
@pytest.mark.usefixtures("npu_operators")
def test_missing_operator_leaves_its_layer_to_torch(missing: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npu, "_exist", lambda *names: missing not in names)
    kinds = npu_layers(check=True)
    for name in ("rms_norm", "rotary", "swiglu"):
        assert (getattr(kinds, name) is getattr(TORCH_LAYERS, name)) is (name == kind)
