"""The interface of attention backends. To add a backend, write one class and list it in `selector`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib.util import find_spec
from typing import ClassVar, Final, Protocol, runtime_checkable

import torch

from cache_tiers.layout.kv_pool import KVPool
from cache_tiers.layout.layout import KVShape, PoolOrder
from models.interface.attention_call import AttentionCall
from models.interface.causal_lm import ForwardContext


@dataclass(frozen=True, slots=True)
class AttentionSpec:
    """Properties of a model that an attention backend has to support.

    calls: the attention calls of a forward pass; empty for a model without attention.
    block_size: in tokens.
    """

    device_type: str
    dtype: torch.dtype
    calls: tuple[AttentionCall, ...]
    block_size: int


def kv_shapes(calls: Iterable[AttentionCall]) -> tuple[KVShape, ...]:
    """Return what `calls` store, for the layout of a block."""
    return tuple(KVShape(call.kv_heads, call.k_dim, call.v_dim) for call in calls)


class Feature(Enum):
    """Optional capabilities of a backend.

    ATTENTION: computes attention. A backend without it serves models that have no attention.
    GRAPHS: decodes can be captured in a device graph (`GraphedAttention`).
    WINDOWS: sliding windows and chunks.
    SOFTCAP: soft-capped scores.
    SINKS: attention sinks.
    UNEQUAL_KV: heads of K and V that differ in width.
    """

    ATTENTION = "attention"
    GRAPHS = "graphs"
    WINDOWS = "windows"
    SOFTCAP = "softcap"
    SINKS = "sinks"
    UNEQUAL_KV = "unequal_kv"


ALL_CALLS: Final = (Feature.WINDOWS, Feature.SOFTCAP, Feature.SINKS, Feature.UNEQUAL_KV)
"""Features of a backend that computes every kind of call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionSupport:
    """Declared support of a backend. An empty tuple means any value.

    block_multiple: divisor of every supported block size.
    max_block_size: in tokens; 0 means no limit.
    max_head_dim: of K and V; 0 means no limit.
    max_group: maximum number of query heads per KV head; 0 means no limit.
    packages: packages that must be installed.
    """

    features: tuple[Feature, ...] = (Feature.ATTENTION,)
    devices: tuple[str, ...] = ()
    dtypes: tuple[torch.dtype, ...] = ()
    head_dims: tuple[int, ...] = ()
    block_multiple: int = 1
    max_block_size: int = 0
    max_head_dim: int = 0
    max_group: int = 0
    packages: tuple[str, ...] = ()

    def unsupported_reason(self, spec: AttentionSpec) -> str | None:
        """Return None if `spec` is supported, else the reason in a few words."""
        if (Feature.ATTENTION in self.features) != bool(spec.calls):
            return "only for models without attention" if spec.calls else "the model has no attention"
        if self.devices and spec.device_type not in self.devices:
            return f"does not run on {spec.device_type}"
        if self.dtypes and spec.dtype not in self.dtypes:
            return f"{_name(spec.dtype)} is not one of {', '.join(map(_name, self.dtypes))}"
        for call in dict.fromkeys(spec.calls):
            reason = self._refusal(call)
            if reason is not None:
                return reason
        if spec.block_size % self.block_multiple:
            return f"blocks of {spec.block_size} tokens are not a multiple of {self.block_multiple}"
        if self.max_block_size and spec.block_size > self.max_block_size:
            return f"blocks of {spec.block_size} tokens are larger than {self.max_block_size}"
        missing = [name for name in self.packages if find_spec(name) is None]
        return f"{', '.join(missing)} is not installed" if missing else None

    def _refusal(self, call: AttentionCall) -> str | None:
        needs = (
            (call.window or call.chunk, Feature.WINDOWS, "does not compute sliding windows"),
            (call.softcap, Feature.SOFTCAP, "does not cap scores"),
            (call.sinks, Feature.SINKS, "does not compute attention sinks"),
            (call.k_dim != call.v_dim, Feature.UNEQUAL_KV, "heads of K and V differ in size"),
        )
        for needed, feature, reason in needs:
            if needed and feature not in self.features:
                return reason
        if self.head_dims and call.k_dim not in self.head_dims:
            return f"head size {call.k_dim} is not one of {', '.join(map(str, self.head_dims))}"
        if self.max_head_dim and max(call.k_dim, call.v_dim) > self.max_head_dim:
            return f"heads are wider than {self.max_head_dim}"
        if self.max_group and call.group > self.max_group:
            return f"more than {self.max_group} query heads share a KV head"
        return None


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


@dataclass(frozen=True, slots=True)
class AttentionMetadata:
    """A mixed batch of B sequences and T rows. Sequence i owns the next `query_lens[i]` rows of the flat batch.

    seq_lens: total number of keys per sequence, including this step's. The rows of sequence i are its last
        `query_lens[i]` positions.
    block_tables: block j of sequence i holds positions [j * block_size, (j + 1) * block_size). A table may be longer
        than `seq_lens` requires.
    slot_mapping: [T] int64, the slot of each row's K and V: block id * block_size + offset in the block.
    """

    query_lens: tuple[int, ...]
    seq_lens: tuple[int, ...]
    block_tables: tuple[Sequence[int], ...]
    slot_mapping: torch.Tensor


class AttentionBackend(Protocol):
    """Attention over the paged KV cache, a pool in the backend's own order.

    Invariant: stale bytes in slots beyond a sequence's length never affect a result. A recycled block may hold NaN or
    Inf.
    """

    numerics: ClassVar[str]
    """Name and version of the backend, part of every block key. Change it with any change in a bit of the results."""

    support: ClassVar[AttentionSupport]

    order: ClassVar[PoolOrder]

    def __init__(self, spec: AttentionSpec, pool: KVPool, *, check: bool = False) -> None:
        """Create a backend over the blocks of `pool`.

        check: validate calls of the device's operators against their documented limits, for tests and debugging.
        """

    def begin_step(self, metadata: AttentionMetadata) -> ForwardContext:
        """Prepare the state that all layers share. The context is valid until the next `begin_step`."""


@runtime_checkable
class GraphedAttention(Protocol):
    """A backend whose decodes can be captured once and replayed."""

    def decode_context(
        self, block_tables: torch.Tensor, slot_mapping: torch.Tensor, positions: torch.Tensor
    ) -> ForwardContext:
        """Create the context of a graph capture: B sequences with one row each, all of length 1.

        A replay reads the tensors again and receives the actual lengths. All tensors are on the device.

        block_tables: [B, blocks] int32.
        slot_mapping, positions: [B] int64.
        """


@dataclass(frozen=True, slots=True)
class StepShape:
    """Capacity of a captured step with prompts.

    rows: rows of the step, some of which may be padding.
    prompts: maximum number of sequences with several rows.
    sequences: maximum number of sequences.
    """

    rows: int
    prompts: int
    sequences: int


class StepContext(ForwardContext, Protocol):
    """Context of a captured step, filled for every replay."""

    def fill(self, metadata: AttentionMetadata) -> None:
        """Queue the copies of what a replay for `metadata` reads, apart from its block tables and slots."""


@runtime_checkable
class GraphedSteps(Protocol):
    """A backend whose steps with prompts can be captured once and replayed for other prompts."""

    def step_context(self, shape: StepShape, block_tables: torch.Tensor, slot_mapping: torch.Tensor) -> StepContext:
        """Create the context of a graph capture. Without `fill`, it attends to nothing.

        The results of rows without a sequence are zero. All tensors are on the device, and a replay reads them again.

        block_tables: [sequences, blocks] int32.
        slot_mapping: [rows] int64.
        """
