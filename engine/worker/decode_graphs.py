"""Decodes of whole batches as recorded graphs: one call of the device instead of hundreds.

A graph has a fixed number of rows, so there is one per bucket, and a batch takes the smallest that holds it. The rows
that it does not need are padding: each is a sequence of its own of length 1, in a block that belongs to nobody, and
writes to a slot of its own there, because the operators allow neither rows without a sequence nor a slot twice.
"""

from dataclasses import dataclass
from typing import Final

import torch

from engine.attention.backend import AttentionBackend, GraphedAttention
from engine.worker.device import Device, Graph
from engine.worker.input_batch import StepInput
from models.interface import CausalLM

BUCKETS: Final = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128)


@dataclass(frozen=True, slots=True)
class DecodeShape:
    """spare_block: the id of the block that padding writes to. max_blocks: of the longest sequence."""

    max_rows: int
    max_blocks: int
    block_size: int
    spare_block: int

    def buckets(self) -> tuple[int, ...]:
        """Sizes of the graphs, ascending; the last one holds `max_rows`, as far as one block has slots to pad with."""
        rows = min(self.max_rows, self.block_size, BUCKETS[-1])
        return (*(size for size in BUCKETS if size < rows), next(size for size in BUCKETS if size >= rows))


class DecodeGraphs:
    """All graphs of one model. `capture` first; then `run` for every step."""

    def __init__(self, model: CausalLM, attention: AttentionBackend, device: Device, shape: DecodeShape) -> None:
        self._model = model
        self._attention = attention
        self._device = device
        self._shape = shape
        self._captured: list[_Bucket] = []

    @torch.inference_mode()
    def capture(self) -> bool:
        """Record all buckets, the largest first, so that the smaller ones find its memory. False, and nothing is
        recorded, where the device or the attention cannot do that. Raises what the device raises."""
        if not isinstance(self._attention, GraphedAttention):
            return False
        captured: list[_Bucket] = []
        for rows in reversed(self._shape.buckets()):
            graph = self._device.new_graph()
            if graph is None:
                return False
            captured.insert(0, _Bucket(rows, self._shape, self._model, self._attention, self._device, graph))
        self._captured = captured
        return True

    def run(self, step: StepInput) -> torch.Tensor | None:
        """Final hidden states [T, hidden] of a step of decodes, valid until the next run; None for any other step."""
        rows = len(step.attention.query_lens)
        if not self._captured or rows > self._captured[-1].rows or max(step.attention.query_lens) > 1:
            return None
        return next(bucket for bucket in self._captured if bucket.rows >= rows).run(step)


class _Bucket:
    """One graph and the memory that it reads: inputs are copied there, never handed over."""

    def __init__(
        self,
        rows: int,
        shape: DecodeShape,
        model: CausalLM,
        attention: GraphedAttention,
        device: Device,
        graph: Graph,
    ) -> None:
        self.rows = rows
        self._graph = graph
        # Of nothing but padding, until a step overwrites the first rows.
        at = device.torch_device
        slots = torch.arange(rows, dtype=torch.int64) + shape.spare_block * shape.block_size
        self._pad_slots = slots.to(at)
        self._pad_ids = torch.zeros(rows, dtype=torch.int64, device=at)
        self._ids, self._positions = self._pad_ids.clone(), self._pad_ids.clone()
        self._slots = self._pad_slots.clone()
        self._pad_table = torch.full((rows, shape.max_blocks), shape.spare_block, dtype=torch.int32)
        self._table = self._pad_table.to(at)
        context = attention.decode_context(self._table, self._slots)
        self._hidden = graph.capture(lambda: model.forward(self._ids, self._positions, context))

    def run(self, step: StepInput) -> torch.Tensor:
        used = len(step.input_ids)
        self._ids[:used].copy_(step.input_ids)
        self._positions[:used].copy_(step.positions)
        self._slots[:used].copy_(step.attention.slot_mapping)
        table = self._pad_table.clone()
        for line, blocks in zip(table, step.attention.block_tables, strict=False):
            line[: len(blocks)] = torch.tensor(blocks, dtype=torch.int32)
        self._table.copy_(table)
        self._ids[used:].copy_(self._pad_ids[used:])
        self._positions[used:].copy_(self._pad_ids[used:])
        self._slots[used:].copy_(self._pad_slots[used:])
        self._graph.replay([*step.attention.seq_lens, *[1] * (self.rows - used)])
        return self._hidden[:used]
