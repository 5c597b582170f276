"""Random histories of sequences over a paged KV pool, played to several attention backends at once."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch

from cache_tiers.layout.kv_pool import KVPool
from cache_tiers.layout.layout import BlockLayout
from engine.attention.backend import AttentionBackend, AttentionMetadata, AttentionSpec, kv_shapes
from engine.attention.selector import load_backend
from models.interface.attention_call import AttentionCall

Inputs = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None]
"""q, k, v and sinks of one call."""

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
        blocks: int,
        device: torch.device | None = None,
    ) -> None:
        """device: None is the CPU, also for backends of other devices, whose operators must be faked there."""
        self.spec, self.device = spec, device
        self.block_size = spec.block_size
        self.last_inputs: list[Inputs] = []
        self.random = random.Random(f"{spec} {blocks}")
        self.generator = torch.Generator().manual_seed(self.random.randrange(1 << 30))
        layout = BlockLayout(kv_shapes(spec.calls), spec.block_size, spec.dtype.itemsize)
        self.pools: dict[str, KVPool] = {}
        self.backends: dict[str, AttentionBackend] = {}
        for name in names:
            backend = load_backend(name)
            memory = torch.zeros(blocks * layout.elements, dtype=spec.dtype, device=device)
            self.pools[name] = KVPool(memory, replace(layout, order=backend.order))
            self.backends[name] = backend(spec, self.pools[name], check=True)
        self.free = list(range(blocks))
        self.random.shuffle(self.free)
        self.poison(self.free)

    def poison(self, block_ids: Sequence[int]) -> None:
        for block_id in block_ids:
            value = self.random.choice(POISON)
            for name in self.pools:
                for part in self.pools[name].block(block_id):
                    part.fill_(value)

    def pages(self, name: str, block_id: int) -> list[torch.Tensor]:
        """Return K and V of each call in one block of a backend's pool, in the pool's own order."""
        return [pages[block_id] for pair in self.pools[name].pages for pages in pair]

    def retire(self, life: Life) -> None:
        self.poison(life.blocks)
        self.free += life.blocks
        life.length, life.blocks = 0, []

    def step(self, work: Sequence[tuple[Life, int]]) -> dict[str, list[torch.Tensor]]:
        """Compute `count` more tokens of each life; name -> the outputs [T, heads, v_dim] of all calls."""
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
        inputs = self.last_inputs = [self._qkv(call, len(slots)) for call in self.spec.calls]
        outputs: dict[str, list[torch.Tensor]] = {}
        for name, backend in self.backends.items():
            context = backend.begin_step(metadata)
            outputs[name] = [context.attention(index, *tensors) for index, tensors in enumerate(inputs)]
        return outputs

    def _qkv(self, call: AttentionCall, rows: int) -> Inputs:
        """Draw q, k and v as a model provides them: slices of one tensor, so not contiguous. Draw sinks if needed."""
        sizes = (call.heads * call.k_dim, call.kv_heads * call.k_dim, call.kv_heads * call.v_dim)
        merged = torch.randn(rows, sum(sizes), generator=self.generator).to(self.device, self.spec.dtype)
        q, k, v = merged.split(sizes, dim=1)
        sinks = torch.randn(call.heads, generator=self.generator).to(self.device, self.spec.dtype)
        return (
            q.unflatten(1, (call.heads, call.k_dim)),
            k.unflatten(1, (call.kv_heads, call.k_dim)),
            v.unflatten(1, (call.kv_heads, call.v_dim)),
            sinks if call.sinks else None,
        )
