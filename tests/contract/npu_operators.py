"""The operators of torch_npu on the CPU: the real schemas, from the snapshot, on top of reference kernels.

Production code calls `torch.ops.npu.*` as on an NPU. A wrong name, argument or type fails in torch, as on an NPU. The
kernels check the rules that the schemas do not express: every limit of `npu_limits`, and that no call needs a feature
that the reference kernel lacks. Reads and writes of memory are reported to the fake devices.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from engine.attention import npu_limits as attention_limits
from models.layers import npu_limits as layer_limits

SNAPSHOT = Path(__file__).parent / "torch_npu_schemas.json"

Tensors = Sequence[torch.Tensor]
Watcher = Callable[[Tensors, Tensors], None]
"""Callback that receives the tensors that an operator read and those that it wrote."""


def snapshot() -> dict[str, Any]:
    """Load the snapshot, a dictionary with these keys:

    torch, torch_npu: versions.
    schemas: schemas of all operators that torch_npu registers, with their namespaces.
    """
    loaded: dict[str, Any] = json.loads(SNAPSHOT.read_text())
    return loaded


class NpuOperators:
    """Definitions of the operators. Create only one instance per process.

    watchers: callbacks of the devices whose memory the operators may receive.
    calls: names of the operators called so far.
    """

    def __init__(self) -> None:
        self.watchers: list[Watcher] = []
        self.calls: list[str] = []
        self._causal: torch.Tensor | None = None
        self._libraries = {name: torch.library.Library(name, "DEF") for name in ("npu", "atb")}
        for schema in snapshot()["schemas"]:
            namespace, _, rest = schema.partition("::")
            self._libraries[namespace].define(rest)
        for name, kernel in (
            ("npu_rms_norm", self.rms_norm),
            ("npu_add_rms_norm", self.add_rms_norm),
            ("npu_rotary_mul", self.rotary_mul),
            ("npu_swiglu", self.swiglu),
            ("npu_scatter_pa_kv_cache", self.scatter_pa_kv_cache),
            ("npu_fused_infer_attention_score", self.fused_infer_attention_score),
        ):
            self._libraries["npu"].impl(name, kernel, "CPU")

    def _require_causal(self, mask: torch.Tensor) -> None:
        """Assert that the mask hides, with 1, exactly the keys after the diagonal.

        A mask never changes, so each one is compared only once.
        """
        if mask is not self._causal:
            assert mask.equal(torch.ones_like(mask).triu_(1))
            self._causal = mask

    def _report(self, name: str, reads: Tensors, writes: Tensors = ()) -> None:
        self.calls.append(name)
        for watcher in self.watchers:
            watcher(reads, writes)

    def rms_norm(self, x: torch.Tensor, gamma: torch.Tensor, epsilon: float = 1e-6) -> tuple[torch.Tensor, ...]:
        layer_limits.check_rms_norm(x, gamma)
        self._report("npu_rms_norm", ())
        return _norm(x, gamma, epsilon)

    def add_rms_norm(
        self, x1: torch.Tensor, x2: torch.Tensor, gamma: torch.Tensor, epsilon: float = 1e-6
    ) -> tuple[torch.Tensor, ...]:
        layer_limits.check_add_rms_norm(x1, x2, gamma)
        self._report("npu_add_rms_norm", ())
        total = x1 + x2
        return (*_norm(total, gamma, epsilon), total)

    def rotary_mul(
        self,
        x: torch.Tensor,
        cos: torch.Tensor,
        sin: torch.Tensor,
        rotary_mode: str = "half",
        rotate: torch.Tensor | None = None,
    ) -> torch.Tensor:
        assert rotary_mode == "half"
        assert rotate is None
        layer_limits.check_rotary_mul(x, cos, sin)
        self._report("npu_rotary_mul", ())
        low, high = x.float().chunk(2, dim=-1)
        return (x.float() * cos.float() + torch.cat((-high, low), dim=-1) * sin.float()).to(x.dtype)

    def swiglu(self, x: torch.Tensor, dim: int = -1) -> torch.Tensor:
        assert dim == -1
        layer_limits.check_swiglu(x)
        self._report("npu_swiglu", ())
        gate, up = x.float().chunk(2, dim=-1)
        return (torch.nn.functional.silu(gate) * up).to(x.dtype)

    def scatter_pa_kv_cache(
        self,
        key: torch.Tensor,
        value: torch.Tensor,
        key_cache: torch.Tensor,
        value_cache: torch.Tensor,
        slot_mapping: torch.Tensor,
        *,
        compress_lens: torch.Tensor | None = None,
        compress_seq_offsets: torch.Tensor | None = None,
        seq_lens: torch.Tensor | None = None,
        cache_mode: str | None = "PA_NZ",
    ) -> None:
        assert compress_lens is compress_seq_offsets is seq_lens is None
        assert cache_mode == "Norm", f"cache_mode {cache_mode} reads the cache in a different order"
        attention_limits.check_scatter(key, value, key_cache, value_cache, slot_mapping)
        caches = [key_cache.flatten(0, 1), value_cache.flatten(0, 1)]
        written = [cache[first:end] for first, end in _runs(slot_mapping.tolist()) for cache in caches]
        self._report("npu_scatter_pa_kv_cache", (), written)
        for cache, rows in zip(caches, (key, value), strict=True):
            cache[slot_mapping] = rows

    def fused_infer_attention_score(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        *,
        atten_mask: torch.Tensor | None = None,
        actual_seq_lengths: Sequence[int] | None = None,
        actual_seq_lengths_kv: Sequence[int] | None = None,
        block_table: torch.Tensor | None = None,
        num_heads: int = 1,
        scale: float = 1.0,
        pre_tokens: int = 2147483647,
        next_tokens: int = 2147483647,
        input_layout: str = "BSH",
        num_key_value_heads: int = 0,
        sparse_mode: int = 0,
        block_size: int = 0,
        **others: object,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        assert (input_layout, sparse_mode) == ("TND", 3), "the engine uses no other layout or mask"
        assert {pre_tokens, next_tokens} == {2147483647}
        assert all(other in (None, 0, False) for other in others.values()), f"not implemented here: {others}"
        assert num_heads == query.shape[1]
        assert atten_mask is not None
        assert block_table is not None
        assert actual_seq_lengths is not None
        assert actual_seq_lengths_kv is not None
        attention_limits.check_attention(
            query,
            (key, value),
            atten_mask,
            block_table,
            list(actual_seq_lengths),
            list(actual_seq_lengths_kv),
            num_kv_heads=num_key_value_heads,
            block_size=block_size,
        )
        self._require_causal(atten_mask)
        out = torch.empty_like(query)
        start = 0
        for end, length, line in zip(actual_seq_lengths, actual_seq_lengths_kv, block_table, strict=True):
            pages = [(side, line[: -(-length // block_size)]) for side in (key, value)]
            touched = [
                side[block].flatten()[: _left(length, at, block_size) * side.shape[2]]
                for side, blocks in pages
                for at, block in enumerate(blocks.tolist())
            ]
            self._report("npu_fused_infer_attention_score", touched)
            keys, values = (
                side[blocks].flatten(0, 1)[:length].unflatten(1, (num_key_value_heads, -1)).transpose(0, 1).float()
                for side, blocks in pages
            )
            for row in range(start, end):
                seen = length - (end - 1 - row)
                out[row] = _attend(query[row], keys[:, :seen], values[:, :seen], scale)
            start = end
        return out, query.new_empty(0)


def _left(length: int, block: int, block_size: int) -> int:
    """Count the slots that a sequence of `length` tokens fills in its block number `block`."""
    return min(block_size, length - block * block_size)


def _runs(slots: Sequence[int]) -> list[tuple[int, int]]:
    """Group consecutive slots into half-open ranges (first, end)."""
    runs: list[tuple[int, int]] = []
    for slot in slots:
        if runs and runs[-1][1] == slot:
            runs[-1] = (runs[-1][0], slot + 1)
        else:
            runs.append((slot, slot + 1))
    return runs


def _norm(x: torch.Tensor, gamma: torch.Tensor, epsilon: float) -> tuple[torch.Tensor, torch.Tensor]:
    wide = x.float()
    rstd = wide.square().mean(-1, keepdim=True).add(epsilon).rsqrt()
    return (wide * rstd).to(x.dtype) * gamma, rstd


def _attend(q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: float) -> torch.Tensor:
    """Attend from q [heads, dim] to keys and values [kv_heads, n, dim]. Return [heads, dim]."""
    grouped = q.float().view(keys.shape[0], -1, keys.shape[2])
    weights = torch.softmax(grouped @ keys.transpose(1, 2) * scale, dim=-1)
    return (weights @ values).view_as(q).to(q.dtype)
