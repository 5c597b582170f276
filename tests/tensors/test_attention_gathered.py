from dataclasses import replace

import pytest
import torch

from cache_tiers.layout.kv_pool import KVPool
from cache_tiers.layout.layout import BlockLayout
from engine.attention.backend import AttentionMetadata, AttentionSpec, kv_shapes
from engine.attention.gathered import GatheredAttention
from engine.attention.gathered_plan import QUERY_TILE
from models.interface.attention_call import AttentionCall, plain_calls
from tests.sizes import Size
from tests.tensors.paged_history import Life, PagedHistory


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Use one thread: with small tensors, more threads would only wait for each other."""
    torch.set_num_threads(1)


SHAPES = [(9, 3, 64), (4, 4, 64), (7, 1, 64), (8, 2, 128), (3, 1, 128), (2, 2, 16)]


WINDOW = AttentionCall(heads=6, kv_heads=2, k_dim=16, v_dim=16, scale=0.3, window=21)
CALLS = {
    "window": (WINDOW, replace(WINDOW, window=0)),
    "window of one": (replace(WINDOW, window=1),),
    "long window": (replace(WINDOW, window=150),),
    "chunk": (replace(WINDOW, window=0, chunk=24), replace(WINDOW, window=0)),
    "softcap": (replace(WINDOW, softcap=2.0), replace(WINDOW, window=0, softcap=2.0)),
    "sinks": (replace(WINDOW, sinks=True), replace(WINDOW, window=0, sinks=True)),
    "everything": (replace(WINDOW, softcap=2.0, sinks=True),),
    "K wider than V": (
        AttentionCall(heads=4, kv_heads=4, k_dim=24, v_dim=16, scale=0.2),
        AttentionCall(heads=4, kv_heads=2, k_dim=24, v_dim=16, scale=0.2, window=9),
    ),
    "other sizes by layer": (
        AttentionCall(heads=4, kv_heads=2, k_dim=16, v_dim=16, scale=0.3, window=18),
        AttentionCall(heads=4, kv_heads=1, k_dim=40, v_dim=40, scale=0.1),
    ),
}


def spec(heads: int, kv_heads: int, dim: int, dtype: torch.dtype = torch.float32, *, layers: int = 1) -> AttentionSpec:
    return AttentionSpec("cpu", dtype, plain_calls(layers, heads, kv_heads, dim), 16)


def assert_equals_the_oracle(outputs: dict[str, list[torch.Tensor]], dtype: torch.dtype) -> None:
    tolerance = 2e-5 if dtype == torch.float32 else 2e-2
    for found, expected in zip(outputs["torch"], outputs["reference"], strict=True):
        torch.testing.assert_close(found, expected, atol=tolerance, rtol=tolerance)


def play_random_batches(history: PagedHistory, dtype: torch.dtype, steps: int) -> None:
    lives = [Life() for _ in range(6)]
    for _ in range(steps):
        work = []
        for life in history.random.sample(lives, history.random.randint(1, 6)):
            if life.length > 90:
                history.retire(life)
            count = 1 if life.length and history.random.random() < 0.6 else history.random.randint(1, 40)
            work.append((life, count))
        assert_equals_the_oracle(history.step(work), dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_random_batches_on_recycled_blocks_match_reference(
    shape: tuple[int, int, int], dtype: torch.dtype, size: Size
) -> None:
    history = PagedHistory(spec(*shape, dtype, layers=2), ["torch", "reference"], blocks=64)
    play_random_batches(history, dtype, size.pick(small=6, full=15))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("calls", CALLS)
def test_random_batches_of_every_kind_of_call_match_reference(calls: str, dtype: torch.dtype, size: Size) -> None:
    history = PagedHistory(AttentionSpec("cpu", dtype, CALLS[calls], 16), ["torch", "reference"], blocks=64)
    play_random_batches(history, dtype, size.pick(small=6, full=15))


@pytest.mark.parametrize("context", [0, 1, 100, QUERY_TILE + 30])
@pytest.mark.parametrize("calls", ["window", "long window", "chunk"])
def test_windowed_chunk_of_several_tiles_matches_reference(calls: str, context: int) -> None:
    history = PagedHistory(AttentionSpec("cpu", torch.float32, CALLS[calls], 16), ["torch", "reference"], blocks=64)
    life = Life()
    if context:
        history.step([(life, context)])
    assert_equals_the_oracle(history.step([(life, 2 * QUERY_TILE + 50)]), torch.float32)


@pytest.mark.parametrize("context", [0, 1, 100, QUERY_TILE, QUERY_TILE + 30])
def test_chunk_of_several_query_tiles_matches_reference(context: int) -> None:
    history = PagedHistory(replace(spec(6, 2, 64), block_size=64), ["torch", "reference"], blocks=16)
    life = Life()
    if context:
        history.step([(life, context)])
    assert_equals_the_oracle(history.step([(life, 2 * QUERY_TILE + 50)]), torch.float32)


def test_decodes_of_mixed_lengths_with_chunk_match_reference() -> None:
    history = PagedHistory(spec(9, 3, 64), ["torch", "reference"], blocks=128)
    lives = [Life() for _ in range(6)]
    history.step(list(zip(lives, (700, 3, 350, 16, 1, 120), strict=True)))
    assert_equals_the_oracle(history.step(list(zip(lives, (1, 1, 9, 1, 1, 1), strict=True))), torch.float32)


def test_pool_bytes_equal_those_of_reference() -> None:
    history = PagedHistory(spec(9, 3, 64, torch.bfloat16, layers=3), ["torch", "reference"], blocks=8)
    life = Life()
    history.step([(life, 48)])
    for block_id in life.blocks:
        assert torch.equal(history.pools["torch"].blocks[block_id], history.pools["reference"].blocks[block_id])


@pytest.mark.parametrize("count", [1, 40])
def test_prefix_moved_to_other_blocks_gives_same_bits(count: int) -> None:
    shape = spec(9, 3, 64, torch.bfloat16, layers=2)
    layout = BlockLayout(kv_shapes(shape.calls), 16, 2)
    generator = torch.Generator().manual_seed(5)
    pool = KVPool(torch.randn(20 * layout.elements, generator=generator).bfloat16(), layout)
    q, k, v = torch.randn((count, 15, 64), generator=generator).bfloat16().split((9, 3, 3), dim=1)
    computed, restored = [3, 0, 7, 1, 2], [10, 19, 11, 15, 12]
    pool.blocks[restored[:2]] = pool.blocks[computed[:2]]
    results = []
    for table in (computed, restored):
        slots = torch.tensor([table[p // 16] * 16 + p % 16 for p in range(32, 32 + count)])
        metadata = AttentionMetadata((count,), (32 + count,), (table,), slots)
        context = GatheredAttention(shape, pool).begin_step(metadata)
        results.append([context.attention(layer, q, k, v) for layer in range(2)])
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))
