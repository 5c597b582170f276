"""The NPU's attention over random histories of sequences, compared with the reference backend."""

import pytest
import torch

from engine.attention.backend import AttentionSpec
from tests.contract.npu_operators import NpuOperators
from tests.sizes import Size
from tests.tensors.paged_history import Life, PagedHistory

BLOCK = 128
SHAPES = {"pangu-1b": (12, 6), "pangu-7b": (32, 8), "one KV head": (7, 1)}


def history(heads: int, kv_heads: int, layers: int = 1, blocks: int = 24) -> PagedHistory:
    spec = AttentionSpec("npu", torch.bfloat16, heads, kv_heads, 128, BLOCK)
    return PagedHistory(spec, ["npu", "reference"], layers=layers, blocks=blocks, block_size=BLOCK)


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
        outputs = played.step(work)
        assert torch.equal(outputs["npu"], outputs["reference"])


@pytest.mark.parametrize("context", [1, 127, 128, 129, 255, 256])
@pytest.mark.usefixtures("npu_operators")
def test_decode_at_block_edges_matches_oracle(context: int) -> None:
    played = history(6, 2)
    life, other = Life(), Life()
    played.step([(life, context), (other, 5)])
    outputs = played.step([(other, 1), (life, 1)])
    assert torch.equal(outputs["npu"], outputs["reference"])


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
        assert torch.equal(played.block("npu", block).transpose(2, 3), played.block("reference", block))
