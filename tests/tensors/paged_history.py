"""Random histories of sequences over a paged KV pool, played to several attention backends at once."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch

from cache_tiers.layout import BlockLayout, PoolOrder
from engine.attention.backend import AttentionBackend, AttentionMetadata, AttentionSpec
from engine.attention.selector import load_backend

POISON = (float("nan"), float("inf"), float("-inf"), 1e30)


@dataclass
class Life:
    """One sequence: how many tokens have KV, and in which blocks."""

    length: int = 0
    blocks: list[int] = field(default_factory=list)


class PagedHistory:
    """Player of the same steps to each named backend, over pools whose free blocks are full of NaN and Inf."""

    def __init__(
        self,
        spec: AttentionSpec,
        names: Sequence[str],
        *,
        layers: int,
        blocks: int,
        block_size: int,
        device: torch.device | None = None,
    ) -> None:
        """device: None is the CPU, also for backends of other devices, whose operators must be faked there."""
        self.spec, self.device = spec, device
        self.layers, self.block_size = layers, block_size
        self.by_layer: dict[str, bool] = {}
        self.last_inputs: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
        self.random = random.Random(f"{spec} {layers} {blocks}")
        self.generator = torch.Generator().manual_seed(self.random.randrange(1 << 30))
        layout = BlockLayout(layers, spec.num_kv_heads, block_size, spec.head_dim, spec.dtype.itemsize)
        self.pools: dict[str, torch.Tensor] = {}
        self.backends: dict[str, AttentionBackend] = {}
        for name in names:
            backend = load_backend(name)
            self.by_layer[name] = backend.order is PoolOrder.LAYERS
            shape = replace(layout, order=backend.order).pool_shape(blocks)
            self.pools[name] = torch.zeros(shape, dtype=spec.dtype, device=device)
            self.backends[name] = backend(spec, self.pools[name], check=True)
        self.free = list(range(blocks))
        self.random.shuffle(self.free)
        self.poison(self.free)

    def poison(self, block_ids: Sequence[int]) -> None:
        for block_id in block_ids:
            value = self.random.choice(POISON)
            for name in self.pools:
                self.block(name, block_id).fill_(value)

    def block(self, name: str, block_id: int) -> torch.Tensor:
        """Return one block of a backend's pool, all layers."""
        return self.pools[name][:, :, block_id] if self.by_layer[name] else self.pools[name][block_id]

    def retire(self, life: Life) -> None:
        self.poison(life.blocks)
        self.free += life.blocks
        life.length, life.blocks = 0, []

    def step(self, work: Sequence[tuple[Life, int]]) -> dict[str, torch.Tensor]:
        """Compute `count` more tokens of each life; name -> outputs [layer, T, heads, head_dim]."""
        slots: list[int] = []
        for life, count in work:
            end = life.length + count
            while len(life.blocks) * self.block_size < end:
                life.blocks.append(self.free.pop())
            slots += [
                life.blocks[p // self.block_size] * self.block_size + p % self.block_size
                for p in range(life.length, end)
            ]
            life.length = end
        metadata = AttentionMetadata(
            query_lens=tuple(count for _, count in work),
            seq_lens=tuple(life.length for life, _ in work),
            block_tables=tuple(tuple(life.blocks) for life, _ in work),
            slot_mapping=torch.tensor(slots, device=self.device),
        )
        inputs = self.last_inputs = [self._qkv(len(slots)) for _ in range(self.layers)]
        outputs: dict[str, torch.Tensor] = {}
        for name, backend in self.backends.items():
            context = backend.begin_step(metadata)
            outputs[name] = torch.stack([context.attention(layer, *qkv) for layer, qkv in enumerate(inputs)])
        return outputs

    def _qkv(self, rows: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Draw q, k and v as a model provides them: slices of one tensor, so not contiguous."""
        heads, kv_heads = self.spec.num_heads, self.spec.num_kv_heads
        merged = torch.randn(rows, heads + 2 * kv_heads, self.spec.head_dim, generator=self.generator)
        q, k, v = merged.to(self.device, self.spec.dtype).split((heads, kv_heads, kv_heads), dim=1)
        return q, k, v
