"""Captured graphs of steps with prompts: one device call per step instead of hundreds, which take the host far longer.

A graph has a fixed number of rows, so there is one graph per bucket size, and the remaining rows are padding. The
sequences of a step may be any prompts and decodes. Padding belongs to no sequence, and writes to a slot that no request
owns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
import torch

from engine.attention.backend import AttentionBackend, GraphedSteps, StepShape
from engine.worker.batch.input_batch import StepInput
from engine.worker.torch.buckets import buckets_up_to, capture_buckets
from engine.worker.torch.device import Device, Graph
from engine.worker.torch.device_tables import DeviceTables
from models.interface.causal_lm import CausalLM

LONGEST: Final = 8192
"""Tokens of the longest sequence of a captured step. The keys of longer ones must be split into as many parts as keep
the device busy, and a graph cannot change their number."""
ROWS_PER_PROMPT: Final = 8
"""Rows of a graph for each sequence with several rows that it has room for. A step whose prompts have two rows takes a
graph of four times its size."""
BUCKETS: Final = (64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)


@dataclass(frozen=True, slots=True)
class PromptShape:
    """Capacity of the graphs.

    max_rows: maximum number of rows of a step.
    max_sequences: maximum number of sequences of a step.
    max_blocks: number of blocks of the longest sequence.
    block_size: in tokens.
    spare_block: id of a block that padding writes to.
    """

    max_rows: int
    max_sequences: int
    max_blocks: int
    block_size: int
    spare_block: int

    def buckets(self) -> tuple[int, ...]:
        """Return the graph sizes in rows, ascending. The last one holds `max_rows`, or is the largest bucket."""
        return buckets_up_to(self.max_rows, BUCKETS)


class PromptGraphs:
    """Graphs of one model. Call `capture` once, then `run` for every step with prompts."""

    steps: ClassVar[str] = "prompts"

    def __init__(self, model: CausalLM, attention: AttentionBackend, device: Device, shape: PromptShape) -> None:
        self._model = model
        self._attention = attention
        self._device = device
        self._shape = shape
        at, rows = device.torch_device, shape.buckets()[-1]
        padding = torch.tensor([0, 0, shape.spare_block * shape.block_size], device=at)
        # Token ids, positions and slots, [3, rows].
        self._padding = padding[:, None].expand(3, rows)
        self._inputs = self._padding.clone()
        pad_blocks = np.full(shape.max_sequences, shape.spare_block, dtype=np.int64)
        self._tables = DeviceTables(pad_blocks, min(shape.max_blocks, -(-LONGEST // shape.block_size)), at)
        self._captured: list[_Bucket] = []

    @torch.inference_mode()
    def capture(self) -> bool:
        """Capture all buckets.

        Return False, and keep no graph, if the device or the attention backend cannot capture. Errors of the device
        propagate.
        """
        attention, sequences = self._attention, self._shape.max_sequences
        if not isinstance(attention, GraphedSteps):
            return False

        def capture(rows: int, graph: Graph) -> _Bucket:
            shape = StepShape(rows, min(rows // ROWS_PER_PROMPT, sequences), sequences)
            return _Bucket(shape, self._model, attention, self._tables, self._inputs[:, :rows], graph)

        captured = capture_buckets(self._device, self._shape.buckets(), capture)
        self._captured = captured or []
        return captured is not None

    def run(self, step: StepInput, input_ids: torch.Tensor) -> torch.Tensor | None:
        """Compute a step in a graph. input_ids: those of `step`, without placeholders.

        Return the final hidden states [T, hidden], valid until the next run. Return None if no graph fits the step:
        one with too many rows, prompts or sequences, or with a sequence longer than LONGEST.
        """
        attention, rows = step.attention, len(step.input_ids)
        bucket = self._bucket_for(rows, sum(count > 1 for count in attention.query_lens))
        if bucket is None or max(attention.seq_lens) > LONGEST or len(attention.seq_lens) > self._shape.max_sequences:
            return None
        self._inputs[:, :rows].copy_(torch.stack((input_ids, step.positions, attention.slot_mapping)))
        self._inputs[:, rows : bucket.rows].copy_(self._padding[:, rows : bucket.rows])
        self._tables.write(attention.block_tables)
        bucket.context.fill(attention)
        bucket.replay(attention.seq_lens)
        return bucket.hidden[:rows]

    def _bucket_for(self, rows: int, prompts: int) -> "_Bucket | None":
        """Return the smallest graph that has room for `rows` and `prompts`."""
        fitting = (bucket for bucket in self._captured if bucket.rows >= rows and bucket.prompts >= prompts)
        return next(fitting, None)


class _Bucket:
    """One graph.

    hidden: the final hidden states [rows, hidden], which every replay overwrites.
    """

    def __init__(
        self,
        shape: StepShape,
        model: CausalLM,
        attention: GraphedSteps,
        tables: DeviceTables,
        inputs: torch.Tensor,
        graph: Graph,
    ) -> None:
        """Capture the graph. inputs: token ids, positions and slots, [3, rows], which a replay reads."""
        self.rows, self.prompts = shape.rows, shape.prompts
        self._graph = graph
        ids, positions, slots = inputs
        # A replay reads the context's tensors. The allocator would reuse the memory of freed ones.
        self.context = attention.step_context(shape, tables.tensor, slots)
        self.hidden = graph.capture(lambda: model.forward(ids, positions, self.context))

    def replay(self, seq_lens: Sequence[int]) -> None:
        self._graph.replay(seq_lens)
