"""Sampled tokens stay on the device: later steps are queued before the host has read those of earlier ones."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from engine.api.sampling_params import SamplingParams
from engine.request.scheduler_output import ModelRunnerOutput, NewRequestData, SchedulerOutput
from tests.contract.npu_rig import GREEDY, note_sampler_copies, npu_config, npu_driver, prompt
from tests.fake_npu.device import FakeNpu
from tests.integration.worker_driver import WorkerDriver

PARAMS = {
    "greedy": GREEDY,
    "drawn": SamplingParams(temperature=1.0, seed=3),
    "top_k": SamplingParams(temperature=1.0, top_k=50, top_p=0.95, seed=4),
    "penalties": SamplingParams(
        temperature=0.9, top_k=50, repetition_penalty=1.2, frequency_penalty=0.4, presence_penalty=0.2, seed=5
    ),
    "logprobs": SamplingParams(temperature=0.9, top_k=50, logprobs=4, seed=6),
}
PROMPTS = {name: tuple(prompt(salt, 120 + 3 * salt)) for salt, name in enumerate(PARAMS)}
STEPS = 6


def plans(driver: WorkerDriver, passes: int) -> list[SchedulerOutput]:
    """Plan a step of prompts and then steps of decodes, of `passes` passes each."""
    new = [
        NewRequestData(name, tokens, len(tokens), (3 * at, 3 * at + 1), 0, PARAMS[name])
        for at, (name, tokens) in enumerate(PROMPTS.items())
    ]
    lengths = {name: len(tokens) for name, tokens in PROMPTS.items()}
    decodes = [
        driver.plan(dict.fromkeys(PROMPTS, 1), cached={name: length + step for name, length in lengths.items()})
        for step in range(0, STEPS, passes)
    ]
    return [driver.plan(lengths, new=new), *(replace(each, passes=passes) for each in decodes)]


def tokens_by_request(results: Sequence[ModelRunnerOutput]) -> dict[str, list[int]]:
    return {name: [token for each in results for token in each.sampled_token_ids[name]] for name in PROMPTS}


@pytest.fixture
def expected(npu: FakeNpu, pangu: Path) -> dict[str, list[int]]:
    """Compute the tokens step by step: the host reads each token before it plans the next step."""
    driver = npu_driver(npu_config(pangu))
    tokens = tokens_by_request([driver.run(step) for step in plans(driver, 1)])
    driver.executor.close()
    return tokens


@pytest.mark.parametrize("passes", [1, 3])
def test_steps_queued_before_any_result_give_same_tokens(
    npu: FakeNpu, pangu: Path, expected: dict[str, list[int]], passes: int
) -> None:
    driver = npu_driver(npu_config(pangu))
    collects = [driver.executor.call(driver.worker.submit, step) for step in plans(driver, passes)]
    assert tokens_by_request([collect() for collect in collects]) == expected
    driver.executor.close()


def test_host_reads_only_sampled_ids_and_log_probabilities(
    npu: FakeNpu, pangu: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = note_sampler_copies(monkeypatch)
    driver = npu_driver(npu_config(pangu))
    for step in plans(driver, 3):
        driver.run(step)
    driver.executor.close()
    assert not any(copies.reads for copies in copied)
    # A random number for each row that draws: one row draws from all tokens, and three from the likeliest.
    assert [copies.elements for copies in copied[1:]] == [[1, 3]] * STEPS
    # The log probabilities of one row are read together: its token's, and those of four tokens with their ids.
    assert npu.reads == [len(PROMPTS), 1 + 2 * 4] * (STEPS + 1)
