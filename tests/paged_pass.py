"""Sequences computed by a model through an attention backend, over a pool whose free blocks are full of NaN."""

from collections.abc import Sequence

import torch

from cache_tiers.layout.kv_pool import KVPool
from cache_tiers.layout.layout import BlockLayout
from engine.attention.backend import AttentionMetadata, AttentionSpec, kv_shapes
from engine.attention.selector import select_backend
from models.interface.causal_lm import CausalLM

BLOCK = 16


class PagedSequences:
    """Prompts that `step` computes piece by piece. logits: those of each prompt's rows so far, [rows, vocab]."""

    def __init__(self, model: CausalLM, prompts: Sequence[torch.Tensor], backend: str) -> None:
        """prompts: token ids on the device of the model."""
        self._model, self._prompts, self._device = model, prompts, prompts[0].device
        calls = model.attention
        layout = BlockLayout(kv_shapes(calls), BLOCK, model.dtype.itemsize)
        count = sum(-(-len(ids) // BLOCK) for ids in prompts)
        memory = torch.full((count * layout.elements,), float("nan"), dtype=model.dtype, device=self._device)
        spec = AttentionSpec(self._device.type, model.dtype, calls, BLOCK)
        self._attention = select_backend(spec, backend).backend(spec, KVPool(memory, layout))
        self._free = list(range(count))
        self._tables: list[list[int]] = [[] for _ in prompts]
        self.logits = [torch.empty(0, model.vocab_size, device=self._device) for _ in prompts]

    @torch.inference_mode()
    def step(self, work: Sequence[tuple[int, int]]) -> None:
        """Compute the next `count` tokens of each prompt `index` in one flat batch. work: pairs (index, count)."""
        starts = [len(self.logits[index]) for index, _ in work]
        ends = [start + count for start, (_, count) in zip(starts, work, strict=True)]
        positions = torch.cat([self._range(*span) for span in zip(starts, ends, strict=True)])
        ids = torch.cat([self._prompts[i][start:end] for (i, _), start, end in zip(work, starts, ends, strict=True)])
        for (index, _), end in zip(work, ends, strict=True):
            while len(self._tables[index]) * BLOCK < end:
                self._tables[index].append(self._free.pop())
        metadata = AttentionMetadata(
            query_lens=tuple(count for _, count in work),
            seq_lens=tuple(ends),
            block_tables=tuple(tuple(self._tables[index]) for index, _ in work),
            slot_mapping=torch.cat(
                [self._slots(i, start, end) for (i, _), start, end in zip(work, starts, ends, strict=True)]
            ),
        )
        hidden = self._model.forward(ids, positions, self._attention.begin_step(metadata))
        rows = self._model.compute_logits(hidden).split([count for _, count in work])
        for (index, _), logits in zip(work, rows, strict=True):
            self.logits[index] = torch.cat((self.logits[index], logits))

    def _slots(self, index: int, start: int, end: int) -> torch.Tensor:
        positions = self._range(start, end)
        table = torch.tensor(self._tables[index], device=self._device)
        return table[positions // BLOCK] * BLOCK + positions % BLOCK

    def _range(self, start: int, end: int) -> torch.Tensor:
        return torch.arange(start, end, device=self._device)
