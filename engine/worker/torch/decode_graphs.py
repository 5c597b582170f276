"""Captured graphs of batched decodes, with and without drafts: one device call per step instead of hundreds.

A graph has a fixed number of rows, so there is one graph per bucket size. A batch runs in the smallest bucket that
holds it, and the remaining rows are padding. Each padding row is a sequence of length 1 in a spare block that no
request owns, and writes to a separate slot there. An NPU's operators allow neither rows without a sequence nor
duplicate slots.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
import torch

from engine.attention.backend import AttentionBackend, GraphedAttention
from engine.device.pinned_copy import upload
from engine.worker.batch.input_batch import StepInput
from engine.worker.torch.buckets import buckets_up_to, capture_buckets
from engine.worker.torch.device import Device, Graph
from engine.worker.torch.device_tables import DeviceTables
from models.interface.causal_lm import CausalLM

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DecodeLines:
    """Lines of a graph for a step of B sequences and T rows.

    A drafted row attends to the keys up to its own, like a decode, and the keys of the rows before it are written by
    then. Each drafted row therefore has its own line, with the block table of its sequence. Lines 0 to B - 1 are the
    first rows of the sequences, so they have the same tables in steps with and without drafts. The other lines follow.

    rows: [T], the row of the flat batch in each line.
    owners: [T], the sequence of each line.
    lines: [T], the line of each row.
    seq_lens: number of keys of each line.
    """

    rows: Ints
    owners: Ints
    lines: Ints
    seq_lens: list[int]

    @classmethod
    def of(cls, query_lens: Sequence[int], seq_lens: Sequence[int]) -> "DecodeLines":
        """Assign lines to sequences of `query_lens` rows each, which are the last of `seq_lens` positions."""
        counts = np.array(query_lens, dtype=np.int64)
        sequences = np.repeat(np.arange(len(counts)), counts)
        firsts = np.cumsum(counts) - counts
        behind = np.arange(len(sequences)) - firsts[sequences]
        rows = np.concatenate((firsts, np.flatnonzero(behind)))
        lengths = np.array(seq_lens) - counts + 1
        return cls(rows, sequences[rows], np.argsort(rows), (lengths[sequences] + behind)[rows].tolist())


DRAFTED_ROWS: Final = 96
"""Rows that the graphs hold at least if there are drafts, as long as the sequences may have as many: those of eight
sequences with the longest drafts. More sequences seldom have long drafts."""
BUCKETS: Final = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512)


@dataclass(frozen=True, slots=True)
class DecodeShape:
    """Capacity of the decode graphs.

    max_rows: maximum number of rows of a step: its sequences and their drafts.
    max_blocks: number of blocks of the longest sequence.
    block_size: in tokens.
    spare_block: id of the first block that padding writes to.
    """

    max_rows: int
    max_blocks: int
    block_size: int
    spare_block: int

    def buckets(self) -> tuple[int, ...]:
        """Return the graph sizes in rows, ascending. The last one holds `max_rows`, or is the largest bucket."""
        return buckets_up_to(self.max_rows, BUCKETS)

    def spare_blocks(self) -> int:
        """Return the number of blocks that gives every padding row a separate slot."""
        return -(-self.buckets()[-1] // self.block_size)


class DecodeGraphs:
    """Decode graphs of one model. Call `capture` once, then `run` for every step."""

    steps: ClassVar[str] = "decodes"

    def __init__(self, model: CausalLM, attention: AttentionBackend, device: Device, shape: DecodeShape) -> None:
        self._model = model
        self._attention = attention
        self._device = device
        self._shape = shape
        self._captured: list[_Bucket] = []

    @torch.inference_mode()
    def capture(self) -> bool:
        """Capture all buckets.

        Return False, and keep no graph, if the device or the attention backend cannot capture. Errors of the device
        propagate.
        """
        attention = self._attention
        if not isinstance(attention, GraphedAttention):
            return False
        captured = capture_buckets(
            self._device,
            self._shape.buckets(),
            lambda rows, graph: _Bucket(rows, self._shape, self._model, attention, self._device, graph),
        )
        self._captured = captured or []
        return captured is not None

    def run(self, step: StepInput, input_ids: torch.Tensor) -> torch.Tensor | None:
        """Compute a step of decodes in a graph. input_ids: those of `step`, without placeholders.

        Return the final hidden states [T, hidden], valid until the next run. Return None if no graph fits the step:
        one with a prompt of several rows, or with more rows than the largest bucket. Drafted rows are decodes.
        """
        rows = len(step.input_ids)
        # Every row of a draft samples, but only the last row of a prompt does.
        is_decode = max(step.attention.query_lens) == 1 or len(step.logits_rows) == rows
        if not self._captured or rows > self._captured[-1].rows or not is_decode:
            return None
        return next(bucket for bucket in self._captured if bucket.rows >= rows).run(step, input_ids)


class _Bucket:
    """One graph and its static input buffers. Each run copies the inputs into these buffers, and of block tables only
    the ids that are new."""

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
        # All rows are padding until a step overwrites the first ones.
        at = device.torch_device
        slots = torch.arange(rows, dtype=torch.int64) + shape.spare_block * shape.block_size
        self._pad_slots = slots.to(at)
        self._pad_ids = torch.zeros(rows, dtype=torch.int64, device=at)
        self._ids, self._positions = self._pad_ids.clone(), self._pad_ids.clone()
        self._slots = self._pad_slots.clone()
        self._tables = DeviceTables((slots // shape.block_size).numpy(), shape.max_blocks, at)
        # A replay reads the context's tensors. The allocator would reuse the memory of freed ones.
        self._context = attention.decode_context(self._tables.tensor, self._slots, self._positions)
        self._hidden = graph.capture(lambda: model.forward(self._ids, self._positions, self._context))

    def run(self, step: StepInput, input_ids: torch.Tensor) -> torch.Tensor:
        attention, used = step.attention, len(input_ids)
        rows = torch.stack((input_ids, step.positions, attention.slot_mapping))
        if used == len(attention.seq_lens):
            self._fill(rows, attention.block_tables, attention.seq_lens)
            return self._hidden[:used]
        lines = DecodeLines.of(attention.query_lens, attention.seq_lens)
        at, owners, back = upload(np.stack((lines.rows, lines.owners, lines.lines)), rows.device).unbind()
        self._fill(rows.index_select(1, at), attention.block_tables, lines.seq_lens, owners)
        return self._hidden.index_select(0, back)

    def _fill(
        self,
        rows: torch.Tensor,
        tables: Sequence[Sequence[int]],
        seq_lens: Sequence[int],
        owners: torch.Tensor | None = None,
    ) -> None:
        """Replay the graph for `rows` [3, T]: ids, positions and slots of the first lines. The others are padding.

        owners: [T], the table of each line; None if table i is that of line i.
        """
        used = rows.shape[1]
        for buffer, values in zip((self._ids, self._positions, self._slots), rows, strict=True):
            buffer[:used].copy_(values)
        self._ids[used:].copy_(self._pad_ids[used:])
        self._positions[used:].copy_(self._pad_ids[used:])
        self._slots[used:].copy_(self._pad_slots[used:])
        self._tables.write(tables, used - len(tables))
        if owners is not None:
            table = self._tables.tensor
            table[len(tables) : used].copy_(table.index_select(0, owners[len(tables) :]))
        self._graph.replay([*seq_lens, *[1] * (self.rows - used)])
