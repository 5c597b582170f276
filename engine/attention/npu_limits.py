"""Documented limits of an Ascend NPU's attention operators, for the calls made here: paged, layout TND, causal.

Source: Ascend/op-plugin, docs/zh/custom_APIs/torch_npu, the pages of npu_fused_infer_attention_score and
npu_scatter_pa_kv_cache. Where the first page contradicts the practice of deployed engines, the checks follow the
engines, and a docstring says so.
"""

from collections.abc import Sequence
from typing import Final

import torch

from models.layers.npu_limits import require

HEAD_DIMS: Final = (128, 192)
"""Head sizes that layout TND supports without a separate rope part."""
BLOCK_MULTIPLE: Final = 128
MAX_BLOCK_SIZE: Final = 512
MAX_SEQUENCES: Final = 4096
MAX_GROUP: Final = 64
MAX_WIDTH: Final = 65535
"""Maximum kv_heads * head_dim of a cache whose last two dimensions are flattened into one."""
MASK_SIDE: Final = 2048
DTYPES: Final = (torch.float16, torch.bfloat16)

_ATTENTION = "npu_fused_infer_attention_score"
_SCATTER = "npu_scatter_pa_kv_cache"


def check_scatter(
    key: torch.Tensor, value: torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor, slots: torch.Tensor
) -> None:
    """Check a call of npu_scatter_pa_kv_cache in mode "Norm".

    key, value: [T, kv_heads, head_dim].
    key_cache, value_cache: [blocks, slot, kv_heads, head_dim].
    slots: [T], all different.
    """
    for name, tensor in (("key", key), ("value", value), ("key_cache", key_cache), ("value_cache", value_cache)):
        require(tensor.is_contiguous(), _SCATTER, f"{name} is not contiguous")
        require(tensor.dtype is key.dtype, _SCATTER, f"{name} is {tensor.dtype}, but key is {key.dtype}")
        require(tensor.dtype in DTYPES, _SCATTER, f"{tensor.dtype} is not supported on A2 and A3")
        dims = 4 if name.endswith("cache") else 3
        require(tensor.dim() == dims, _SCATTER, f"{name} has {tensor.dim()} dimensions, not {dims}")
    require(key.shape[:2] == value.shape[:2], _SCATTER, "key and value differ in tokens or heads")
    require(
        key_cache.shape[2:] == key.shape[1:], _SCATTER, f"a slot of the cache has shape {list(key_cache.shape[2:])}"
    )
    require(slots.dtype in (torch.int32, torch.int64), _SCATTER, f"slot_mapping is {slots.dtype}, not integers")
    require(slots.shape == key.shape[:1], _SCATTER, f"{slots.numel()} slots for {len(key)} tokens")
    ids = slots.tolist()
    last = key_cache.shape[0] * key_cache.shape[1] - 1
    require(all(0 <= slot <= last for slot in ids), _SCATTER, f"a slot is outside 0 to {last}")
    require(len(set(ids)) == len(ids), _SCATTER, "a slot occurs twice")


def check_attention(
    query: torch.Tensor,
    cache: tuple[torch.Tensor, torch.Tensor],
    mask: torch.Tensor,
    block_table: torch.Tensor,
    query_ends: Sequence[int],
    seq_lens: Sequence[int],
    *,
    num_kv_heads: int,
    block_size: int,
) -> None:
    """Check a call of npu_fused_infer_attention_score in layout TND with sparse mode 3.

    query: [T, heads, head_dim].
    cache: keys and values, each [blocks, slot, kv_heads * head_dim].
    query_ends: end of each sequence's rows, as a running sum.
    seq_lens: length of each sequence. The page asks for a running sum here too in TND, but every deployed engine passes
        lengths when there is a block table.
    """
    rows, heads, dim = query.shape
    require(query.dtype in DTYPES, _ATTENTION, f"{query.dtype} is not supported")
    require(dim in HEAD_DIMS, _ATTENTION, f"head size {dim} is not one of {HEAD_DIMS}")
    require(
        num_kv_heads > 0 and heads % num_kv_heads == 0,
        _ATTENTION,
        f"{heads} heads cannot share {num_kv_heads} KV heads",
    )
    require(heads <= MAX_GROUP * num_kv_heads, _ATTENTION, f"more than {MAX_GROUP} heads share a KV head")
    _check_paging(cache, query, block_size=block_size, width=num_kv_heads * dim)
    require(query.is_contiguous(), _ATTENTION, "the query is not contiguous")
    require(
        mask.shape == (MASK_SIDE, MASK_SIDE), _ATTENTION, f"sparse mode 3 needs a mask of {MASK_SIDE} x {MASK_SIDE}"
    )
    require(mask.dtype in (torch.bool, torch.int8, torch.uint8), _ATTENTION, f"the mask is {mask.dtype}")
    _check_lengths(query_ends, seq_lens, rows)
    require(block_table.dtype is torch.int32 and block_table.dim() == 2, _ATTENTION, "block_table is not 2-D int32")
    require(len(block_table) == len(seq_lens), _ATTENTION, "block_table does not have one row per sequence")
    needed = -(-max(seq_lens) // block_size)
    require(block_table.shape[1] >= needed, _ATTENTION, f"block_table has fewer than {needed} columns")
    blocks = cache[0].shape[0]
    for length, line in zip(seq_lens, block_table.tolist(), strict=True):
        used = line[: -(-length // block_size)]
        require(all(0 <= block < blocks for block in used), _ATTENTION, "block_table names a block outside the cache")


def _check_paging(
    cache: tuple[torch.Tensor, torch.Tensor], query: torch.Tensor, *, block_size: int, width: int
) -> None:
    fits = block_size % BLOCK_MULTIPLE == 0 and 0 < block_size <= MAX_BLOCK_SIZE
    require(fits, _ATTENTION, f"block size {block_size} is not a multiple of {BLOCK_MULTIPLE} up to {MAX_BLOCK_SIZE}")
    require(width <= MAX_WIDTH, _ATTENTION, f"a token's K has more than {MAX_WIDTH} values")
    for tensor in cache:
        require(tensor.dtype is query.dtype, _ATTENTION, f"the cache is {tensor.dtype}, but the query is {query.dtype}")
        require(tensor.is_contiguous(), _ATTENTION, "the cache is not contiguous")
        require(
            tensor.shape[1:] == (block_size, width), _ATTENTION, f"a block of the cache is {list(tensor.shape[1:])}"
        )


def _check_lengths(query_ends: Sequence[int], seq_lens: Sequence[int], rows: int) -> None:
    for name, values in (("actual_seq_lengths", query_ends), ("actual_seq_lengths_kv", seq_lens)):
        numbers = isinstance(values, list | tuple) and all(type(value) is int for value in values)
        require(numbers, _ATTENTION, f"{name} is not a list of numbers on the host")
        require(0 < len(values) <= MAX_SEQUENCES, _ATTENTION, f"{name} has {len(values)} entries")
    require(len(query_ends) == len(seq_lens), _ATTENTION, "queries and keys have different numbers of sequences")
    require(query_ends[-1] == rows, _ATTENTION, f"actual_seq_lengths ends at {query_ends[-1]}, not at the {rows} rows")
    query_lens = [end - start for start, end in zip([0, *query_ends], query_ends, strict=False)]
    require(all(length > 0 for length in query_lens), _ATTENTION, "actual_seq_lengths does not increase")
    enough = all(keys >= queries for keys, queries in zip(seq_lens, query_lens, strict=True))
    require(enough, _ATTENTION, "a sequence has fewer keys than queries: are its lengths a running sum?")
