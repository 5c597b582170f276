"""The NPU's attention over random histories of sequences, compared with the reference backend."""

import pytest
import torch

from engine.attention.backend import AttentionSpec
from models.interface.attention_call import AttentionCall, plain_calls
from tests.contract.npu_operators import NpuOperators
from tests.sizes import Size
from tests.tensors.paged_history import Life, PagedHistory

BLOCK = 128
SHAPES = {"pangu-1b": (12, 6), "pangu-7b": (32, 8), "one KV head": (7, 1)}


def history(heads: int, kv_heads: int, layers: int = 1, blocks: int = 24) -> PagedHistory:
    spec = AttentionSpec("npu", torch.bfloat16, plain_calls(layers, heads, kv_heads, 128), BLOCK)
    return PagedHistory(spec, ["npu", "reference"], blocks=blocks)


def assert_equal(outputs: dict[str, list[torch.Tensor]]) -> None:
    for found, expected in zip(outputs["npu"], outputs["reference"], strict=True):
        assert torch.equal(found, expected)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.usefixtures("npu_operators")
def test_mixed_batches_over_recycled_blocks_match_oracle_exactly(shape: str, size: Size) -> None:
    played = history(*SHAPES[shape], layers=2)
    lives = [Life() for _ in range(4)]
    for _ in range(size.pick(small=4, full=20)):
        work = []
        for life in played.random.sample(lives, played.random.randint(1, 4)):
            if life.length > 300:
                played.retire(life)
            count = 1 if life.length and played.random.random() < 0.6 else played.random.randint(1, 140)
            work.append((life, count))
        assert_equal(played.step(work))


@pytest.mark.parametrize("context", [1, 127, 128, 129, 255, 256])
@pytest.mark.usefixtures("npu_operators")
def test_decode_at_block_edges_matches_oracle(context: int) -> None:
    played = history(6, 2)
    life, other = Life(), Life()
    played.step([(life, context), (other, 5)])
    assert_equal(played.step([(other, 1), (life, 1)]))


@pytest.mark.usefixtures("npu_operators")
def test_layers_with_other_heads_and_scale_match_oracle() -> None:
    calls = (
        AttentionCall(heads=6, kv_heads=2, k_dim=128, v_dim=128, scale=0.05),
        AttentionCall(heads=4, kv_heads=1, k_dim=192, v_dim=192, scale=1.0),
    )
    played = PagedHistory(AttentionSpec("npu", torch.bfloat16, calls, BLOCK), ["npu", "reference"], blocks=8)
    life = Life()
    assert_equal(played.step([(life, 150)]))
    assert_equal(played.step([(life, 1)]))


def test_mixed_step_scatters_kv_once_per_layer(npu_operators: NpuOperators) -> None:
    played = history(6, 2, layers=2)
    npu_operators.calls.clear()
    played.step([(Life(), 130), (Life(), 1), (Life(), 7)])
    assert npu_operators.calls.count("npu_scatter_pa_kv_cache") == 2


@pytest.mark.usefixtures("npu_operators")
def test_k_and_v_of_every_token_are_where_oracle_has_them() -> None:
    played = history(6, 2, layers=2)
    life = Life()
    played.step([(life, 2 * BLOCK)])
    for block in life.blocks:
        for found, expected in zip(played.pages("npu", block), played.pages("reference", block), strict=True):
            assert torch.equal(found.transpose(0, 1), expected)
