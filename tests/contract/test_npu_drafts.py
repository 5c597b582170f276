"""Drafted rows in recorded decodes: the tokens of steps without graphs, and one replay per step."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from engine.api.sampling_params import SamplingParams
from engine.request.scheduler_output import NewRequestData
from engine.worker.torch.decode_graphs import DecodeGraphs, DecodeLines
from tests.contract.npu_rig import GREEDY, note_table_copies, npu_config, npu_driver, prompt
from tests.fake_npu.device import FakeNpu
from tests.integration.worker_driver import WorkerDriver
from tests.sizes import Size

PARAMS = {"a": GREEDY, "b": SamplingParams(temperature=1.0, top_k=50, seed=8), "c": GREEDY}
PROMPTS = {name: tuple(prompt(salt, length)) for salt, (name, length) in enumerate({"a": 122, "b": 20, "c": 3}.items())}
DRAFTS: Sequence[Mapping[str, int | None]] = (
    {"b": 3},
    {"a": 2, "c": 5},
    {},
    {"a": 2, "b": None, "c": None},
    {},
    {"a": 1, "b": 1, "c": 1},
    {"c": 4},
    {},
)
"""Number of drafted tokens of each request, step by step. The last one is wrong. None: not in that step."""
COUNT = 24


def guided(answer: Sequence[int], produced: int, length: int) -> tuple[int, ...]:
    """Draft `length` tokens of the answer, of which the last is another one."""
    right = answer[produced : produced + length]
    return (*right[:-1], right[-1] ^ 1)


def decode(
    driver: WorkerDriver, drafts: Sequence[Mapping[str, int | None]], answers: Mapping[str, Sequence[int]]
) -> dict[str, list[int]]:
    """Run all prompts in one step, and then a step for each of `drafts`. Return the tokens of each request."""
    new = [
        NewRequestData(name, tokens, len(tokens), (4 * at, 4 * at + 1), 0, PARAMS[name])
        for at, (name, tokens) in enumerate(PROMPTS.items())
    ]
    first = driver.run(driver.plan({name: len(tokens) for name, tokens in PROMPTS.items()}, new=new))
    made = {name: list(first.sampled_token_ids[name]) for name in PROMPTS}
    for lengths in drafts:
        guesses = {name: guided(answers[name], len(made[name]), length) for name, length in lengths.items() if length}
        scheduled = {name: 1 + len(guesses.get(name, ())) for name in PROMPTS if lengths.get(name, 0) is not None}
        computed = {name: len(PROMPTS[name]) + len(made[name]) - 1 for name in scheduled}
        result = driver.run(replace(driver.plan(scheduled, cached=computed), drafts=guesses))
        for name, tokens in result.sampled_token_ids.items():
            made[name] += tokens
    driver.run(driver.plan(dropped=PROMPTS))
    return made


@pytest.fixture
def answers(npu: FakeNpu, pangu: Path) -> dict[str, list[int]]:
    driver = npu_driver(npu_config(pangu, graphs=False))
    made = decode(driver, [{}] * COUNT, {})
    driver.executor.close()
    return made


def test_drafts_in_graphs_give_tokens_of_plain_decodes(
    npu: FakeNpu, pangu: Path, answers: dict[str, list[int]]
) -> None:
    driver = npu_driver(npu_config(pangu).with_fields(prompt_lookup=True))
    made = decode(driver, DRAFTS, answers)
    driver.executor.close()
    assert made == {name: answers[name][: len(tokens)] for name, tokens in made.items()}
    # Every step gives a token of each request, and all drafted tokens but the last one stand.
    assert {name: len(tokens) for name, tokens in made.items()} == {"a": 11, "b": 10, "c": 15}
    assert sum(graph.replays for graph in npu.graphs) == len(DRAFTS)


def test_draft_model_on_the_npu_gives_tokens_of_plain_decodes(
    npu: FakeNpu, pangu: Path, answers: dict[str, list[int]]
) -> None:
    driver = npu_driver(npu_config(pangu).with_fields(prompt_lookup=True, draft_model=pangu))
    texts = {name: tuple(PROMPTS[name]) for name in PROMPTS}
    new = [
        NewRequestData(name, tokens, len(tokens), (4 * at, 4 * at + 1), 0, PARAMS[name])
        for at, (name, tokens) in enumerate(PROMPTS.items())
    ]
    first = driver.run(driver.plan({name: len(tokens) for name, tokens in PROMPTS.items()}, new=new))
    numbers = []
    for result in [first] + [None] * 4:
        if result is None:
            cached = {name: len(tokens) - 1 for name, tokens in texts.items()}
            step = driver.plan(dict.fromkeys(texts, 1), cached=cached)
            result = driver.run(replace(step, to_draft={"a": 2, "c": 3}))
            assert result.draft_work is not None
            numbers.append(result.draft_work.num_drafted)
        for name, tokens in result.sampled_token_ids.items():
            texts[name] += tokens
    driver.executor.close()
    assert numbers == [{"a": 2, "c": 3}] * 4
    # The draft model is the model itself, so every guess stands.
    assert {name: len(tokens) - len(PROMPTS[name]) for name, tokens in texts.items()} == {"a": 13, "b": 5, "c": 17}
    for name, tokens in texts.items():
        produced = tokens[len(PROMPTS[name]) :]
        assert list(produced) == answers[name][: len(produced)]


def test_prompt_of_several_rows_uses_no_graph(npu: FakeNpu, pangu: Path) -> None:
    driver = npu_driver(npu_config(pangu).with_fields(prompt_lookup=True))
    driver.generate(prompt(7, 9), 1, blocks=(0,), chunk=4)
    # The chunks have 4, 4 and 1 rows.
    assert sum(graph.replays for graph in npu.graphs) == 1
    driver.executor.close()


def test_drafts_copy_no_block_table_to_the_device(
    npu: FakeNpu, pangu: Path, answers: dict[str, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Count the elements that each step copies for its block tables: places and ids."""
    copied = note_table_copies(monkeypatch)
    driver = npu_driver(npu_config(pangu).with_fields(prompt_lookup=True))
    # All steps have from 5 to 8 rows, in the same graph.
    decode(driver, [{"a": 2}, {"b": 3}, {"a": 1, "c": 3}, {"b": 1, "c": 1}], answers)
    driver.executor.close()
    # Three tables of two blocks at first. In the last step, two lines become padding.
    assert copied == [[6, 6], [], [], [2, 2]]


def test_graphs_hold_longest_drafts_of_eight_sequences(npu: FakeNpu, pangu: Path, size: Size) -> None:
    sizes = {}
    largest = {1: 16, 4: 48, 8: 96} | size.pick(small={}, full={300: 320})
    for seqs in largest:
        driver = npu_driver(npu_config(pangu).with_fields(prompt_lookup=True, max_num_seqs=seqs))
        (graphs,) = driver.worker._runner._graphs  # type: ignore[union-attr]
        assert isinstance(graphs, DecodeGraphs)
        sizes[seqs] = graphs._shape.buckets()[-1]
        driver.executor.close()
    assert sizes == largest


def test_lines_of_drafted_rows_follow_first_rows() -> None:
    lines = DecodeLines.of((1, 3, 2), (10, 23, 32))
    assert lines.rows.tolist() == [0, 1, 4, 2, 3, 5]
    assert lines.owners.tolist() == [0, 1, 2, 1, 1, 2]
    assert lines.seq_lens == [10, 21, 31, 22, 23, 32]
    assert lines.rows[lines.lines].tolist() == list(range(6))
