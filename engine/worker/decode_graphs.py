"""Decodes of whole batches as recorded graphs: one call of the device instead of hundreds.

A graph has a fixed number of rows, so there is one per bucket, and a batch takes the smallest that holds it. The rows
that it does not need are padding: each is a sequence of its own of length 1, in a block that belongs to nobody, and
writes to a slot of its own there, because an NPU's operators allow neither rows without a sequence nor a slot twice.
"""

from collections.abc import Sequence
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
    """spare_block: the id of the first block that padding writes to. max_blocks: of the longest sequence."""

    max_rows: int
    max_blocks: int
    block_size: int
    spare_block: int

    def buckets(self) -> tuple[int, ...]:
        """Sizes of the graphs, ascending; the last one holds `max_rows`, or is the largest that there is."""
        rows = min(self.max_rows, BUCKETS[-1])
        return (*(size for size in BUCKETS if size < rows), next(size for size in BUCKETS if size >= rows))

    def spare_blocks(self) -> int:
        """How many blocks padding needs, so that each of its rows has a slot."""
        return -(-self.buckets()[-1] // self.block_size)


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
        self._tables = _TableRows(slots // shape.block_size, shape.max_blocks)
        self._table = self._tables.lines.to(at)
        context = attention.decode_context(self._table, self._slots, self._positions)
        self._hidden = graph.capture(lambda: model.forward(self._ids, self._positions, context))

    def run(self, step: StepInput) -> torch.Tensor:
        used = len(step.input_ids)
        self._ids[:used].copy_(step.input_ids)
        self._positions[:used].copy_(step.positions)
        self._slots[:used].copy_(step.attention.slot_mapping)
        self._table.copy_(self._tables.update(step.attention.block_tables))
        self._ids[used:].copy_(self._pad_ids[used:])
        self._positions[used:].copy_(self._pad_ids[used:])
        self._slots[used:].copy_(self._pad_slots[used:])
        self._graph.replay([*step.attention.seq_lens, *[1] * (self.rows - used)])
        return self._hidden[:used]


class _TableRows:
    """Block tables on the host, a line each. A request's table only grows, so of the one that a line had before only
    the new blocks are written: all of them would cost as much as the step itself."""

    def __init__(self, pad_blocks: torch.Tensor, max_blocks: int) -> None:
        """pad_blocks: [rows], the block of each line where it is padding."""
        self.lines = pad_blocks.to(torch.int32)[:, None].expand(-1, max_blocks).contiguous()
        self._numbers = self.lines.numpy()
        self._pad_blocks = pad_blocks.tolist()
        self._tables: list[Sequence[int]] = [()] * len(pad_blocks)
        self._filled = [0] * len(pad_blocks)

    def update(self, tables: Sequence[Sequence[int]]) -> torch.Tensor:
        """[rows, max_blocks] int32 on the host: `tables`, then padding. Behind a table's end a line may hold what it
        held before: ids of blocks of the pool, which nobody reads."""
        for at, table in enumerate(tables):
            done = self._filled[at] if self._tables[at] is table else 0
            if len(table) > done:
                self._numbers[at, done : len(table)] = table[done:]
            self._tables[at], self._filled[at] = table, len(table)
        for at in range(len(tables), len(self._tables)):
            if self._filled[at]:
                self._numbers[at, 0] = self._pad_blocks[at]
                self._tables[at], self._filled[at] = (), 0
        return self.lines
