"""Recorded decodes: the same tokens as without graphs, and padding that touches no request's blocks."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch

from cache_tiers.layout.kv_pool import KVPool
from engine.api.sampling_params import SamplingParams
from engine.request.scheduler_output import NewRequestData
from engine.worker.torch.decode_graphs import DecodeShape
from tests.contract.npu_operators import NpuOperators
from tests.contract.npu_rig import (
    BLOCK,
    GREEDY,
    note_sampler_copies,
    note_table_copies,
    npu_config,
    npu_driver,
    prompt,
)
from tests.fake_npu.device import FakeNpu
from tests.fake_npu.graph import FakeGraph
from tests.integration.worker_driver import WorkerDriver

PROMPTS = {name: tuple(prompt(salt, length)) for salt, (name, length) in enumerate({"a": 126, "b": 20, "c": 3}.items())}
KINDS = (GREEDY, SamplingParams(temperature=1.0, seed=3), SamplingParams(temperature=0.9, top_k=50, seed=4))


def decode_together(driver: WorkerDriver, steps: int) -> dict[str, list[int]]:
    """Run all prompts in one step and then `steps - 1` decodes, which are three rows in a graph of four.

    Return the tokens of each request.
    """
    new = [
        NewRequestData(name, tokens, len(tokens), (4 * at, 4 * at + 1), 0, GREEDY)
        for at, (name, tokens) in enumerate(PROMPTS.items())
    ]
    lengths = {name: len(tokens) for name, tokens in PROMPTS.items()}
    results = [driver.run(driver.plan(lengths, new=new))]
    for step in range(steps - 1):
        cached = {name: length + step for name, length in lengths.items()}
        results.append(driver.run(driver.plan(dict.fromkeys(PROMPTS, 1), cached=cached)))
    driver.run(driver.plan(dropped=PROMPTS))
    return {name: [result.sampled_token_ids[name][0] for result in results] for name in PROMPTS}


def test_recorded_decodes_match_tokens_without_graphs(npu: FakeNpu, pangu: Path) -> None:
    recorded, called = (npu_driver(npu_config(pangu, graphs=graphs)) for graphs in (True, False))
    assert decode_together(recorded, 6) == decode_together(called, 6)
    assert sum(graph.replays for graph in npu.graphs) == 5
    for driver in (recorded, called):
        driver.executor.close()


def test_replay_has_lengths_of_step_followed_by_padding(
    npu: FakeNpu, npu_operators: NpuOperators, pangu: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: list[list[int]] = []

    def replay(graph: FakeGraph, seq_lens: Sequence[int]) -> None:
        lengths.append(list(seq_lens))
        kept(graph, seq_lens)

    kept = FakeGraph.replay
    monkeypatch.setattr(FakeGraph, "replay", replay)
    driver = npu_driver(npu_config(pangu))
    decode_together(driver, 4)
    driver.executor.close()
    # "a" enters its second block during the decodes.
    assert lengths == [[127, 21, 4, 1], [128, 22, 5, 1], [129, 23, 6, 1]]


def test_padding_writes_only_to_spare_block(npu: FakeNpu, pangu: Path) -> None:
    driver = npu_driver(npu_config(pangu))
    cache = driver.worker._cache
    assert cache is not None
    with torch._C.DisableTorchFunctionSubclass():
        tensor = cache.pool.tensor.as_subclass(torch.Tensor)
    pool = KVPool(tensor, cache.pool.layout)
    assert pool.num_blocks == 17
    decode_together(driver, 3)
    owned = {0, 1, 4, 8}
    untouched = [block for block in range(16) if block not in owned]
    assert not any(part.any() for block in untouched for part in pool.block(block))
    assert any(part.any() for part in pool.block(16))
    assert tensor.isfinite().all()
    driver.executor.close()


def test_batch_larger_than_every_graph_runs_without_graph(npu: FakeNpu, pangu: Path) -> None:
    driver = npu_driver(npu_config(pangu).with_fields(max_num_seqs=2))
    together = decode_together(driver, 3)
    assert sum(graph.replays for graph in npu.graphs) == 0
    alone = {name: driver.generate(tokens, 3, blocks=(12, 13)) for name, tokens in PROMPTS.items()}
    assert sum(graph.replays for graph in npu.graphs) > 0
    assert together == alone
    driver.executor.close()


def test_device_that_cannot_record_still_decodes(
    npu: FakeNpu, pangu: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(graph: FakeGraph, compute: Callable[[], torch.Tensor]) -> torch.Tensor:
        raise RuntimeError("error 207008: no stream is left")

    monkeypatch.setattr(FakeGraph, "capture", fail)
    driver = npu_driver(npu_config(pangu))
    assert "error 207008" in caplog.text
    assert len(driver.generate(PROMPTS["b"], 3, blocks=(0,))) == 3
    driver.executor.close()


@pytest.mark.parametrize(
    ("max_rows", "expected"),
    [(1, (1,)), (2, (1, 2)), (3, (1, 2, 4)), (32, (1, 2, 4, 8, 16, 24, 32)), (33, (1, 2, 4, 8, 16, 24, 32, 48))],
)
def test_graphs_cover_every_possible_batch_and_no_larger_one(max_rows: int, expected: tuple[int, ...]) -> None:
    assert DecodeShape(max_rows, 8, BLOCK, 16).buckets() == expected


def test_largest_graph_has_a_slot_for_each_row_of_padding() -> None:
    shape = DecodeShape(4096, 8, BLOCK, 16)
    assert shape.buckets()[-1] == 512
    assert shape.spare_blocks() * BLOCK >= 512


def test_decodes_copy_only_new_block_ids_to_the_device(
    npu: FakeNpu, pangu: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Count the elements that each decode of three requests copies for its block tables: places and ids."""
    copied = note_table_copies(monkeypatch)
    driver = npu_driver(npu_config(pangu))
    decode_together(driver, 5)
    driver.generate(PROMPTS["b"], 2, blocks=(12, 13))
    driver.executor.close()
    assert copied == [[6, 6], [], [], [], [2, 2]]


def decode_many(driver: WorkerDriver, rows: int, steps: int) -> list[list[int]]:
    """Run `rows` short prompts in one step, and then `steps` decodes of all of them. Return the tokens of each step."""
    prompts = {f"r{at}": tuple(prompt(at, 2 + at % 3)) for at in range(rows)}
    new = [
        NewRequestData(name, tokens, len(tokens), (at,), 0, KINDS[at % len(KINDS)])
        for at, (name, tokens) in enumerate(prompts.items())
    ]
    lengths = {name: len(tokens) for name, tokens in prompts.items()}
    results = [driver.run(driver.plan(lengths, new=new))]
    for step in range(steps):
        cached = {name: length + step for name, length in lengths.items()}
        results.append(driver.run(driver.plan(dict.fromkeys(prompts, 1), cached=cached)))
    return [[result.sampled_token_ids[name][0] for name in prompts] for result in results]


def test_160_rows_replay_one_graph_and_read_only_ids(
    npu: FakeNpu, pangu: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Count the copies of each decode: those of the sampler, of block tables, and to the host."""
    rows, steps = 160, 3
    copied, tables = note_sampler_copies(monkeypatch), note_table_copies(monkeypatch)
    driver = npu_driver(npu_config(pangu).with_fields(max_num_seqs=rows), num_blocks=rows)
    recorded = decode_many(driver, rows, steps)
    driver.executor.close()
    # The largest graph is captured first. Each step launches this one and no other.
    assert [graph.replays for graph in npu.graphs] == [steps] + [0] * (len(npu.graphs) - 1)
    assert npu.reads == [rows] * (1 + steps)
    assert not any(copies.reads for copies in copied)
    # A decode copies a random number for each row that draws, from all tokens or from the likeliest.
    drawing = [sum(at % len(KINDS) == kind for at in range(rows)) for kind in (1, 2)]
    assert [copies.elements for copies in copied[1:]] == [drawing] * steps
    assert tables == [[rows, rows], *[[]] * (steps - 1)]

    called = npu_driver(npu_config(pangu, graphs=False), num_blocks=rows)
    assert decode_many(called, rows, steps) == recorded
    called.executor.close()
