"""Captured decodes on a stand-in for a graph that, like a real one, keeps addresses and no Python objects."""

import gc
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch

from engine.worker.torch.decode_graphs import DecodeGraphs, DecodeShape


class Graph:
    def capture(self, compute: Callable[[], torch.Tensor]) -> torch.Tensor:
        return compute()

    def replay(self, seq_lens: Sequence[int]) -> None:
        raise NotImplementedError


class Device:
    torch_device = torch.device("cpu")

    def new_graph(self) -> Graph:
        return Graph()


class Context:
    """Stands for tensors of the attention backend that a replay reads."""


class Attention:
    def __init__(self) -> None:
        self.contexts: list[weakref.ref[Context]] = []

    def decode_context(self, tables: torch.Tensor, slots: torch.Tensor, positions: torch.Tensor) -> Context:
        context = Context()
        self.contexts.append(weakref.ref(context))
        return context


class Model:
    def forward(self, ids: torch.Tensor, positions: torch.Tensor, context: Context) -> torch.Tensor:
        return torch.zeros(len(ids), 4)


def test_graphs_keep_the_contexts_that_replays_read() -> None:
    attention = Attention()
    parts: tuple[Any, Any, Any] = (Model(), attention, Device())
    graphs = DecodeGraphs(*parts, DecodeShape(max_rows=4, max_blocks=2, block_size=16, spare_block=8))
    assert graphs.capture()
    gc.collect()
    assert len(attention.contexts) == 3
    assert all(context() is not None for context in attention.contexts)
