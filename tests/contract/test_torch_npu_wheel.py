"""Ebb's calls to the installed torch_npu wheel, checked by the wheel's own shape functions, without an NPU or CANN."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

SCRIPT = """
from scripts.torch_npu_schemas import import_torch_npu
torch = import_torch_npu()

import inspect
from cache_tiers.layout.kv_pool import KVPool
from cache_tiers.layout.layout import BlockLayout, PoolOrder
from engine.attention.backend import AttentionMetadata, AttentionSpec, kv_shapes
from engine.attention.npu import NpuAttention
from models.interface.attention_call import plain_calls
from models.layers.npu import npu_layers

nowhere, dtype = torch.device("meta"), torch.bfloat16

def tensor(*shape, dtype=dtype):
    return torch.empty(shape, dtype=dtype, device=nowhere)

spec = AttentionSpec("npu", dtype, plain_calls(2, 12, 6, 128), 128)
layout = BlockLayout(kv_shapes(spec.calls), 128, 2, PoolOrder.LAYERS)
attention = NpuAttention(spec, KVPool(tensor(8 * layout.elements), layout))
slots = tensor(4, dtype=torch.int64)
step = attention.begin_step(AttentionMetadata((3, 1), (130, 5), ((0, 1), (2,)), slots))
decodes = attention.decode_context(tensor(4, 8, dtype=torch.int32), slots, slots)
for context in (step, decodes):
    out = context.attention(1, *tensor(4, 24, 128).split((12, 6, 6), dim=1))
    assert (out.shape, out.dtype) == ((4, 12, 128), dtype)

kinds = npu_layers(check=True)
norm = kinds.rms_norm(256, 1e-5, dtype=dtype, device=nowhere)
assert "NpuRMSNorm" in str(type(norm)), "the operators are there, so they are used"
assert norm(tensor(4, 256)).shape == (4, 256)
assert [each.shape for each in norm.add(tensor(4, 256), tensor(4, 256))] == [(4, 256)] * 2
assert kinds.swiglu(tensor(4, 256)).shape == (4, 128)
table = kinds.rotary(128, 64, 16e6, None, nowhere)
assert table.rotate(tensor(4, 18, 128), table.rows(slots)).shape == (4, 18, 128)

assert {"pool", "auto_dispatch_capture"} <= set(inspect.signature(torch.npu.graph.__init__).parameters)
assert "cpu_update_input" in inspect.signature(torch.npu.NPUGraph.update).parameters
for name in ("graph_pool_handle", "get_device_name", "is_available"):
    assert callable(getattr(torch.npu, name))
print("all called")
"""


@pytest.mark.torch_npu
def test_wheel_accepts_every_call_of_ebb() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.stdout.strip().endswith("all called"), ran.stderr[-3000:]
