"""Captured steps with prompts, on stand-ins for a graph and for attention."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch

from engine.attention.backend import AttentionMetadata, StepShape
from engine.worker.batch.input_batch import StepInput
from engine.worker.torch.prompt_graphs import LONGEST, PromptGraphs, PromptShape

pytestmark = pytest.mark.usefixtures("inference")
SHAPE = PromptShape(max_rows=100, max_sequences=40, max_blocks=1000, block_size=16, spare_block=8)


@pytest.fixture
def inference() -> Iterator[None]:
    """Compute as the model runner does."""
    with torch.inference_mode():
        yield


class Graph:
    """Graph that computes again at every replay, in the memory of its first result."""

    def capture(self, compute: Callable[[], torch.Tensor]) -> torch.Tensor:
        self._compute = compute
        self._result = compute().clone()
        return self._result

    def replay(self, seq_lens: Sequence[int]) -> None:
        self._result.copy_(self._compute())


class Device:
    torch_device = torch.device("cpu")

    def new_graph(self) -> Graph:
        return Graph()


class Context:
    def __init__(self, tables: torch.Tensor, slots: torch.Tensor) -> None:
        self.tables, self.slots = tables, slots
        self.filled: list[AttentionMetadata] = []

    def fill(self, metadata: AttentionMetadata) -> None:
        self.filled.append(metadata)


class Attention:
    def __init__(self) -> None:
        self.contexts: list[Context] = []

    def step_context(self, shape: StepShape, block_tables: torch.Tensor, slot_mapping: torch.Tensor) -> Context:
        assert len(slot_mapping) == shape.rows
        self.contexts.append(Context(block_tables, slot_mapping))
        return self.contexts[-1]


class Model:
    """Model whose hidden states are the ids, positions and slots that it got."""

    def forward(self, ids: torch.Tensor, positions: torch.Tensor, context: Context) -> torch.Tensor:
        return torch.stack((ids, positions, context.slots), dim=1)


def graphs_of(shape: PromptShape = SHAPE) -> tuple[PromptGraphs, Attention]:
    attention = Attention()
    parts: tuple[Any, Any, Any] = (Model(), attention, Device())
    graphs = PromptGraphs(*parts, shape)
    assert graphs.capture()
    return graphs, attention


def step_of(
    query_lens: Sequence[int], seq_lens: Sequence[int], tables: Sequence[Sequence[int]] | None = None
) -> StepInput:
    rows = torch.arange(100, 100 + sum(query_lens))
    tables = tuple(tables or [[at, at + 1] for at in range(len(query_lens))])
    metadata = AttentionMetadata(tuple(query_lens), tuple(seq_lens), tables, rows + 2000)
    return StepInput(
        input_ids=rows,
        positions=rows + 1000,
        attention=metadata,
        logits_rows=(),
        sampling_rows=(),
        scored_rows=(),
        scheduled=(),
    )


def test_step_runs_in_smallest_graph_that_holds_it() -> None:
    graphs, attention = graphs_of()
    assert [len(context.slots) for context in attention.contexts] == [128, 96, 64]
    for rows, used in ((64, 2), (65, 1), (97, 0)):
        step = step_of([rows - 1, 1], [rows - 1, 9])
        hidden = graphs.run(step, step.input_ids)
        assert hidden is not None
        assert torch.equal(hidden, torch.stack((step.input_ids, step.positions, step.attention.slot_mapping), dim=1))
        assert attention.contexts[used].filled == [step.attention]


def test_many_short_prompts_run_in_larger_graph() -> None:
    graphs, attention = graphs_of()
    for prompts, used in ((8, 2), (9, 1), (16, 0)):
        step = step_of([2] * prompts, [2] * prompts)
        assert graphs.run(step, step.input_ids) is not None
        assert attention.contexts[used].filled == [step.attention]


def test_padding_writes_to_spare_slot_after_a_larger_step() -> None:
    graphs, attention = graphs_of()
    for rows in (60, 20):
        step = step_of([rows], [rows])
        graphs.run(step, step.input_ids)
    smallest = attention.contexts[-1]
    assert smallest.slots[20:].unique().tolist() == [SHAPE.spare_block * SHAPE.block_size]
    assert smallest.slots[:20].tolist() == step.attention.slot_mapping.tolist()


def test_tables_longer_than_a_captured_sequence_are_cut() -> None:
    graphs, attention = graphs_of()
    table = list(range(LONGEST // SHAPE.block_size + 3))
    step = step_of([5, 5], [LONGEST, 5], [table, [1, 2]])
    graphs.run(step, step.input_ids)
    tables = attention.contexts[-1].tables
    assert tables[0].tolist() == table[: LONGEST // SHAPE.block_size]
    assert tables[1, :2].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("query_lens", "seq_lens"),
    [([129], [129]), ([5, 1], [5, LONGEST + 1]), ([2] * 17, [2] * 17), ([1] * 41, [1] * 41)],
    ids=["rows", "keys", "prompts", "sequences"],
)
def test_step_that_fits_no_graph_is_left_alone(query_lens: list[int], seq_lens: list[int]) -> None:
    graphs, attention = graphs_of()
    step = step_of(query_lens, seq_lens)
    assert graphs.run(step, step.input_ids) is None
    assert not any(context.filled for context in attention.contexts)


def test_backend_without_captured_steps_has_no_graphs() -> None:
    parts: tuple[Any, Any, Any] = (Model(), object(), Device())
    graphs = PromptGraphs(*parts, SHAPE)
    assert not graphs.capture()
    step = step_of([5], [5])
    assert graphs.run(step, step.input_ids) is None
