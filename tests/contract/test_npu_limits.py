"""Documented limits of the operators that the engine calls: valid calls pass, calls just outside a limit raise."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import torch

from engine.attention import npu_limits as attention_limits
from models.layers import npu_limits as layer_limits
from models.layers.npu_limits import OperatorLimitError

BF16 = torch.bfloat16


def zeros(*shape: int, dtype: torch.dtype = BF16) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype)


@dataclass(frozen=True)
class AttentionCall:
    """Valid attention call of two sequences: a chunk of three rows that sees 130 keys, and a decode that sees 5."""

    query: torch.Tensor = field(default_factory=lambda: zeros(4, 6, 128))
    cache: torch.Tensor = field(default_factory=lambda: zeros(4, 128, 256))
    mask: torch.Tensor = field(default_factory=lambda: zeros(2048, 2048, dtype=torch.int8))
    block_table: torch.Tensor = field(default_factory=lambda: torch.tensor([[0, 1], [2, 0]], dtype=torch.int32))
    query_ends: Sequence[int] = (3, 4)
    seq_lens: Sequence[int] = (130, 5)
    num_kv_heads: int = 2
    block_size: int = 128

    def check(self) -> None:
        attention_limits.check_attention(
            self.query,
            (self.cache, self.cache),
            self.mask,
            self.block_table,
            self.query_ends,
            self.seq_lens,
            num_kv_heads=self.num_kv_heads,
            block_size=self.block_size,
        )


def test_unchanged_attention_call_is_accepted() -> None:
    AttentionCall().check()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"query": zeros(4, 6, 64), "cache": zeros(4, 128, 128)}, "head size 64"),
        ({"query": zeros(4, 6, 128, dtype=torch.float32)}, "float32 is not supported"),
        ({"query": zeros(4, 6, 256)[..., :128]}, "the query is not contiguous"),
        ({"num_kv_heads": 4}, "6 heads cannot share 4 KV heads"),
        ({"query": zeros(4, 65, 128), "cache": zeros(4, 128, 128), "num_kv_heads": 1}, "more than 64 heads"),
        ({"block_size": 64, "cache": zeros(4, 64, 256)}, "block size 64 is not a multiple of 128"),
        ({"block_size": 640, "cache": zeros(4, 640, 256)}, "block size 640"),
        ({"cache": zeros(4, 128, 512)[..., :256]}, "the cache is not contiguous"),
        ({"cache": zeros(4, 128, 256, dtype=torch.float16)}, "the cache is torch.float16"),
        ({"cache": zeros(4, 128, 2, 128)}, "a block of the cache is"),
        ({"mask": zeros(1024, 1024, dtype=torch.int8)}, "mask of 2048 x 2048"),
        ({"mask": zeros(2048, 2048, dtype=torch.float32)}, "the mask is torch.float32"),
        ({"query_ends": torch.tensor([3, 4])}, "is not a list of numbers on the host"),
        ({"seq_lens": [130, torch.tensor(5)]}, "is not a list of numbers on the host"),
        ({"query_ends": (3, 1)}, "ends at 1, not at the 4 rows"),
        ({"query_ends": (4, 4)}, "does not increase"),
        ({"seq_lens": (130, 135, 5)}, "different numbers of sequences"),
        ({"seq_lens": (2, 5)}, "fewer keys than queries"),
        ({"query_ends": (), "seq_lens": ()}, "has 0 entries"),
        ({"block_table": torch.tensor([[0, 1], [2, 0]])}, "block_table is not 2-D int32"),
        ({"block_table": torch.tensor([[0, 1]], dtype=torch.int32)}, "does not have one row per sequence"),
        ({"block_table": torch.tensor([[0], [2]], dtype=torch.int32)}, "block_table has fewer than 2 columns"),
        ({"block_table": torch.tensor([[0, 9], [2, 0]], dtype=torch.int32)}, "names a block outside the cache"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_attention_call_outside_limit_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(OperatorLimitError, match=f"npu_fused_infer_attention_score: .*{sentence}"):
        replace(AttentionCall(), **changes).check()


def test_more_than_4096_sequences_are_refused() -> None:
    call = AttentionCall(
        query=zeros(4097, 6, 128),
        query_ends=list(range(1, 4098)),
        seq_lens=[1] * 4097,
        block_table=torch.zeros(4097, 1, dtype=torch.int32),
    )
    with pytest.raises(OperatorLimitError, match="has 4097 entries"):
        call.check()


def test_block_table_past_end_of_sequence_may_hold_anything() -> None:
    table = torch.tensor([[0, 1, -7], [2, 99, 99]], dtype=torch.int32)
    AttentionCall(block_table=table).check()


@pytest.mark.parametrize(
    ("slots", "sentence"),
    [
        (torch.tensor([5, -1, 7]), "a slot is outside 0 to 511"),
        (torch.tensor([5, 6, 512]), "a slot is outside 0 to 511"),
        (torch.tensor([5, 6, 5]), "a slot occurs twice"),
        (torch.tensor([5, 6]), "2 slots for 3 tokens"),
        (torch.tensor([5.0, 6.0, 7.0]), "slot_mapping is torch.float32"),
    ],
    ids=str,
)
def test_slots_outside_limit_are_refused(slots: torch.Tensor, sentence: str) -> None:
    cache = zeros(4, 128, 2, 128)
    with pytest.raises(OperatorLimitError, match=f"npu_scatter_pa_kv_cache: {sentence}"):
        attention_limits.check_scatter(zeros(3, 2, 128), zeros(3, 2, 128), cache, cache, slots)


@pytest.mark.parametrize(
    ("key", "cache", "sentence"),
    [
        (zeros(3, 4, 128)[:, :2], zeros(4, 128, 2, 128), "key is not contiguous"),
        (zeros(3, 2, 128), zeros(4, 128, 4, 128)[:, :, :2], "key_cache is not contiguous"),
        (zeros(3, 256), zeros(4, 128, 2, 128), "key has 2 dimensions"),
        (zeros(3, 2, 128), zeros(4, 128, 256), "key_cache has 3 dimensions"),
        (zeros(3, 3, 128), zeros(4, 128, 2, 128), "a slot of the cache has shape"),
        (zeros(3, 2, 128), zeros(4, 128, 2, 128, dtype=torch.float16), "key_cache is torch.float16"),
        (
            zeros(3, 2, 128, dtype=torch.float32),
            zeros(4, 128, 2, 128, dtype=torch.float32),
            "torch.float32 is not supported on A2",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_keys_and_caches_outside_limit_are_refused(key: torch.Tensor, cache: torch.Tensor, sentence: str) -> None:
    with pytest.raises(OperatorLimitError, match=f"npu_scatter_pa_kv_cache: {sentence}"):
        attention_limits.check_scatter(key, key, cache, cache, torch.arange(3))


@pytest.mark.parametrize(
    ("shape", "table", "sentence"),
    [
        ((1, 4, 6, 896), (1, 4, 1, 896), "D 896"),
        ((1, 4, 6, 127), (1, 4, 1, 127), "D 127"),
        ((1, 4, 1000, 128), (1, 4, 1, 128), "N 1000"),
        ((1000, 4, 6, 128), (1, 4, 1, 128), "B 1000"),
        ((1, 4, 6, 128), (1, 5, 1, 128), "does not broadcast"),
        ((1, 4, 6, 128), (1, 4, 2, 128), "does not broadcast"),
        ((4, 6, 128), (4, 1, 128), "must have 4 dimensions"),
    ],
    ids=str,
)
def test_rotations_outside_limit_are_refused(shape: tuple[int, ...], table: tuple[int, ...], sentence: str) -> None:
    with pytest.raises(OperatorLimitError, match=f"npu_rotary_mul: .*{sentence}"):
        layer_limits.check_rotary_mul(zeros(*shape), zeros(*table), zeros(*table))


def test_cos_and_sin_of_other_dtype_are_refused() -> None:
    table = zeros(1, 4, 1, 128, dtype=torch.float32)
    with pytest.raises(OperatorLimitError, match=r"npu_rotary_mul: r1 and r2 are torch\.float32"):
        layer_limits.check_rotary_mul(zeros(1, 4, 6, 128), table, table)


def test_norms_and_gates_outside_limit_are_refused() -> None:
    with pytest.raises(OperatorLimitError, match=r"npu_rms_norm: gamma is torch\.float32"):
        layer_limits.check_rms_norm(zeros(4, 64), zeros(64, dtype=torch.float32))
    with pytest.raises(OperatorLimitError, match=r"npu_rms_norm: gamma .* does not fit"):
        layer_limits.check_rms_norm(zeros(4, 64), zeros(32))
    with pytest.raises(OperatorLimitError, match=r"npu_add_rms_norm: x1 .* differ in shape"):
        layer_limits.check_add_rms_norm(zeros(4, 64), zeros(1, 64), zeros(64))
    with pytest.raises(OperatorLimitError, match=r"npu_add_rms_norm: x1 is torch\.bfloat16, but x2 is torch\.float32"):
        layer_limits.check_add_rms_norm(zeros(4, 64), zeros(4, 64, dtype=torch.float32), zeros(64))
    with pytest.raises(OperatorLimitError, match="npu_swiglu: the last dimension 63"):
        layer_limits.check_swiglu(zeros(4, 63))
    with pytest.raises(OperatorLimitError, match=r"npu_swiglu: torch\.int32"):
        layer_limits.check_swiglu(zeros(4, 64, dtype=torch.int32))
