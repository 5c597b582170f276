"""The snapshot of torch_npu's schemas: torch accepts it, wrong calls fail on it, and it matches the installed wheel."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.contract.npu_operators import NpuOperators, snapshot

ROOT = Path(__file__).parent.parent.parent
USED = (
    *("npu_fused_infer_attention_score", "npu_scatter_pa_kv_cache", "npu_rms_norm", "npu_add_rms_norm"),
    *("npu_rotary_mul", "npu_swiglu"),
)


def test_every_schema_of_snapshot_is_defined_verbatim(npu_operators: NpuOperators) -> None:
    schemas = snapshot()["schemas"]
    assert len(schemas) == 462
    live = {str(schema) for schema in torch._C._jit_get_all_schemas() if schema.name.startswith(("npu::", "atb::"))}
    assert live == set(schemas)


@pytest.mark.parametrize("name", USED)
def test_operator_that_engine_calls_is_in_snapshot(name: str) -> None:
    assert any(schema.startswith(f"npu::{name}(") for schema in snapshot()["schemas"])


@pytest.mark.usefixtures("npu_operators")
def test_torch_refuses_wrong_arguments_and_unknown_operators() -> None:
    x = torch.zeros(2, 4)
    with pytest.raises(RuntimeError, match="eps"):
        torch.ops.npu.npu_rms_norm(x, x[0], eps=1e-5)
    with pytest.raises(RuntimeError, match="float"):
        torch.ops.npu.npu_rms_norm(x, x[0], "1e-5")
    with pytest.raises(RuntimeError, match="missing value for argument 'gamma'"):
        torch.ops.npu.npu_rms_norm(x)
    with pytest.raises(AttributeError, match="npu_rotary_embedding"):
        torch.ops.npu.npu_rotary_embedding(x)


@pytest.mark.torch_npu
def test_snapshot_matches_installed_torch_npu() -> None:
    """Run in a separate process, because torch_npu defines the same operators as these tests.

    `pytest -m torch_npu` selects this test.
    """
    script = ROOT / "scripts" / "torch_npu_schemas.py"
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    live = json.loads(ran.stdout)
    recorded = snapshot()
    assert set(live["schemas"]) == set(recorded["schemas"])
    assert live["torch_npu"].split("+")[0] == recorded["torch_npu"]
