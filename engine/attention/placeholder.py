"""A null attention backend for models without attention, so that every model takes the same path through a step."""

from typing import ClassVar

import torch

from cache_tiers.layout.kv_pool import KVPool
from cache_tiers.layout.layout import PoolOrder
from engine.api.errors import EngineError
from engine.attention.backend import AttentionMetadata, AttentionSpec, AttentionSupport


class PlaceholderAttention:
    """A backend that computes no attention, for models that never request any."""

    numerics: ClassVar[str] = "placeholder-1"
    support: ClassVar[AttentionSupport] = AttentionSupport(features=())
    order: ClassVar[PoolOrder] = PoolOrder.BLOCKS

    def __init__(self, spec: AttentionSpec, pool: KVPool, *, check: bool = False) -> None: ...

    def begin_step(self, metadata: AttentionMetadata) -> "PlaceholderAttention":  # noqa: ARG002
        """Return the backend as the context. There is nothing to prepare."""
        return self

    def attention(
        self,
        index: int,
        q: torch.Tensor,  # noqa: ARG002
        k: torch.Tensor,  # noqa: ARG002
        v: torch.Tensor,  # noqa: ARG002
        sinks: torch.Tensor | None = None,  # noqa: ARG002
    ) -> torch.Tensor:
        """Raise EngineError, because the model declared that it has no attention."""
        raise EngineError(f"a model that declared no attention made attention call {index}")
