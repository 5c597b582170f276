"""Streams, pinned memory, copies and operators of a real accelerator, which no emulation can verify."""

import random
from dataclasses import replace

import pytest
import torch

from cache_tiers.cpu_store.plain_arena import open_arena
from cache_tiers.layout.layout import PoolOrder
from cache_tiers.transfer import Direction, TransferJob
from engine.attention.backend import AttentionSpec
from engine.worker.cache_engine import CacheEngine
from engine.worker.torch.accelerator import AcceleratorDevice
from models.interface.attention_call import AttentionCall, plain_calls
from models.layers.kinds import TORCH_LAYERS
from tests.kv_layouts import equal_layers
from tests.tensors.paged_history import Life, PagedHistory

LAYOUT = equal_layers(4, kv_heads=2, block_size=128, head_dim=128)


def play(history: PagedHistory, name: str) -> None:
    lives = [Life() for _ in range(4)]
    for _ in range(8):
        work = []
        for life in history.random.sample(lives, history.random.randint(1, 4)):
            if life.length > 300:
                history.retire(life)
            count = 1 if life.length and history.random.random() < 0.6 else history.random.randint(1, 150)
            work.append((life, count))
        outputs = history.step(work)
        torch.testing.assert_close(outputs[name], outputs["reference"], atol=2e-2, rtol=2e-2)


@pytest.mark.parametrize("order", list(PoolOrder))
def test_blocks_survive_round_trip_through_pinned_memory(device: AcceleratorDevice, order: PoolOrder) -> None:
    layout = replace(LAYOUT, order=order)
    cache = CacheEngine(layout, 8, torch.bfloat16, device)
    pinned = torch.zeros(4 * layout.nbytes, dtype=torch.uint8).pin_memory()
    host = pinned.numpy().data
    cache.attach_host_pool(host)
    content = random.Random(1).randbytes(4 * layout.nbytes)
    host[:] = content
    cache.run([TransferJob(at, Direction.LOAD, 2 * at, at * layout.nbytes) for at in range(4)])
    host[:] = bytes(len(content))
    results = cache.run([TransferJob(at, Direction.STORE, 2 * at, at * layout.nbytes) for at in range(4)])
    assert bytes(host) == content
    assert all(result.seconds > 0 for result in results)
    cache.close()


def test_host_pool_passed_by_address_counts_as_pinned(device: AcceleratorDevice) -> None:
    """LMCache passes the host pool by address. If this test fails, copies are correct but synchronous."""
    pinned = torch.zeros(1 << 20, dtype=torch.uint8).pin_memory()
    assert device.memory is not None
    assert device.memory.pinned(pinned.numpy().data).is_pinned()


def test_own_host_memory_is_pinned(device: AcceleratorDevice) -> None:
    arena = open_arena(3 << 20, shared=False)
    assert device.memory is not None
    assert device.memory.pinned(arena.view).is_pinned()
    arena.close()


def test_torch_attention_matches_reference(device: AcceleratorDevice) -> None:
    spec = AttentionSpec(device.name, torch.bfloat16, plain_calls(1, 6, 2, 64), 128)
    play(PagedHistory(spec, ["torch", "reference"], blocks=24, device=device.torch_device), "torch")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("shape", [(32, 8, 128, 64), (12, 6, 128, 128), (6, 2, 64, 64), (7, 1, 64, 128)], ids=str)
def test_cuda_kernel_matches_reference(
    cuda: AcceleratorDevice, shape: tuple[int, int, int, int], dtype: torch.dtype
) -> None:
    *heads, dim, block_size = shape
    spec = AttentionSpec("cuda", dtype, plain_calls(2, heads[0], heads[1], dim), block_size)
    play(PagedHistory(spec, ["cuda", "reference"], blocks=48, device=cuda.torch_device), "cuda")


RULES = {
    "gemma 2": AttentionCall(heads=16, kv_heads=8, k_dim=256, v_dim=256, scale=0.06, window=100, softcap=5.0),
    "gpt-oss": AttentionCall(heads=64, kv_heads=8, k_dim=64, v_dim=64, scale=0.125, window=128, sinks=True),
    "llama 4": AttentionCall(heads=10, kv_heads=2, k_dim=128, v_dim=128, scale=0.09, chunk=96),
    "phi 3": AttentionCall(heads=8, kv_heads=8, k_dim=96, v_dim=96, scale=0.1, window=64),
    "deepseek v3": AttentionCall(heads=16, kv_heads=16, k_dim=192, v_dim=128, scale=0.07),
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("call", RULES.values(), ids=RULES.keys())
def test_cuda_kernel_computes_the_rules_of_a_call(
    cuda: AcceleratorDevice, call: AttentionCall, dtype: torch.dtype
) -> None:
    calls = (call, AttentionCall(heads=8, kv_heads=4, k_dim=64, v_dim=64, scale=0.125))
    play(
        PagedHistory(
            AttentionSpec("cuda", dtype, calls, 64), ["cuda", "reference"], blocks=48, device=cuda.torch_device
        ),
        "cuda",
    )


def test_copies_overlap_computation(cuda: AcceleratorDevice) -> None:
    """Check that a store waits for the model's earlier work, and that neither model nor host waits for the store."""
    layout = equal_layers(32, kv_heads=2, block_size=128, head_dim=128)
    cache = CacheEngine(layout, 8, torch.bfloat16, cuda)
    size = layout.nbytes
    cache.attach_host_pool(torch.zeros(8 * size, dtype=torch.uint8).pin_memory().numpy().data)
    busy = torch.randn(8192, 8192, device=cuda.torch_device)
    cuda.synchronize()
    cache.pool.tensor.fill_(1)
    for _ in range(20):
        busy = busy @ busy
        busy /= busy.norm()
    step = cache.owed.begin_step()
    cache.start(step, [TransferJob(at, Direction.STORE, at, at * size) for at in range(8)])
    assert cache.owed.take(step, wait=False) == ()
    ended = torch.Event(cuda.torch_device)
    ended.record()
    assert not ended.query(), "starting a store waited for the model"
    results = cache.owed.take(step, wait=True)
    assert [(result.job_id, result.error) for result in results] == [(at, None) for at in range(8)]
    cache.close()


@pytest.mark.parametrize("heads", [(12, 6), (32, 8)], ids=str)
def test_fused_npu_attention_matches_reference(npu: AcceleratorDevice, heads: tuple[int, int]) -> None:
    spec = AttentionSpec("npu", torch.bfloat16, plain_calls(1, *heads, 128), 128)
    play(PagedHistory(spec, ["npu", "reference"], blocks=24, device=npu.torch_device), "npu")


def test_fused_layers_match_torch(device: AcceleratorDevice) -> None:
    at, dtype = device.torch_device, torch.bfloat16
    x, change, gate_up = (torch.randn(5, 256, device=at).to(dtype) for _ in range(3))
    results = []
    fused = device.layers(check=True)
    assert fused is not TORCH_LAYERS
    for kinds in (fused, TORCH_LAYERS):
        norm = kinds.rms_norm(256, 1e-5, dtype=dtype, device=at)
        norm.weight.fill_(0.5)
        table = kinds.rotary(128, 64, 16e6, None, at)
        rows = table.rows(torch.arange(5, device=at))
        turned = table.rotate(x.view(5, 2, 128), rows)
        results.append([norm(x), *norm.add(x.clone(), change), turned, kinds.swiglu(gate_up)])
    for fused, plain in zip(*results, strict=True):
        torch.testing.assert_close(fused, plain, atol=2e-2, rtol=2e-2)
