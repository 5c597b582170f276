"""Steps of a worker: tokens depend on neither chunks, batches nor preemption."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from engine.api.sampling_params import SamplingParams
from engine.request.scheduler_output import NewRequestData
from tests.integration.worker_driver import GREEDY, WorkerDriver, dense_greedy, tokens_of
from tests.tiny_models import make_tiny_model

PROMPT = tuple(int(token) for token in torch.randint(3, 250, (150,), generator=torch.Generator().manual_seed(4)))
DRAWN = SamplingParams(temperature=1.0, top_p=0.95, seed=99)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("worker") / "tiny", layers=3)


@pytest.fixture
def driver(model: Path) -> Iterator[WorkerDriver]:
    driver = WorkerDriver(model)
    yield driver
    driver.executor.close()


def request(name: str, prompt: tuple[int, ...], first_block: int, params: SamplingParams = GREEDY) -> NewRequestData:
    return NewRequestData(name, prompt, len(prompt), tuple(range(first_block, first_block + 14)), 0, params)


def test_greedy_tokens_equal_those_of_the_model_without_cache(model: Path, driver: WorkerDriver) -> None:
    assert driver.generate(PROMPT, 24) == dense_greedy(model, PROMPT, 24)


@pytest.mark.parametrize("chunk", [1, 7, 16, 100, 149])
def test_chunk_size_does_not_change_the_tokens(driver: WorkerDriver, chunk: int) -> None:
    assert driver.generate(PROMPT, 12, params=DRAWN, chunk=chunk) == driver.generate(PROMPT, 12, params=DRAWN)


def test_request_gets_the_same_tokens_in_a_batch_as_alone(driver: WorkerDriver) -> None:
    prompts = {"a": PROMPT[:40], "b": PROMPT[5:100], "c": PROMPT[90:93], "d": PROMPT}
    params = {"a": GREEDY, "b": DRAWN, "c": GREEDY, "d": SamplingParams(top_k=50, seed=5)}
    alone = {name: driver.generate(prompt, 6, params=params[name]) for name, prompt in prompts.items()}
    together: dict[str, list[int]] = {name: [] for name in prompts}
    computed: dict[str, int] = {}
    for round_number in range(12):
        new = []
        if round_number < 4:
            name = "abcd"[round_number]
            new = [request(name, prompts[name], 14 * round_number, params[name])]
            computed[name] = 0
        scheduled = {name: min(64, len(prompts[name]) + len(together[name]) - done) for name, done in computed.items()}
        cached = {name: done for name, done in computed.items() if done}
        result = driver.run(driver.plan(scheduled, new=new, cached=cached))
        computed = {name: computed[name] + count for name, count in scheduled.items()}
        for name, tokens in result.sampled_token_ids.items():
            together[name] += tokens
    assert {name: tokens[:6] for name, tokens in together.items()} == alone


@pytest.mark.parametrize("params", [GREEDY, DRAWN], ids=["greedy", "drawn"])
def test_preempted_request_resumes_with_the_same_tokens(driver: WorkerDriver, params: SamplingParams) -> None:
    whole = driver.generate(PROMPT, 20, params=params)
    head = driver.generate(PROMPT, 8, params=params)
    tail = driver.generate((*PROMPT, *head), 12, params=params, blocks=range(30, 50), chunk=60, prompt_len=len(PROMPT))
    assert head + tail == whole


def test_dropping_and_adding_an_id_in_one_step_restarts_it(driver: WorkerDriver) -> None:
    first = driver.run(driver.plan({"r": 150}, new=[request("r", PROMPT, 0)])).sampled_token_ids["r"]
    again = driver.run(driver.plan({"r": 150}, new=[request("r", PROMPT, 20)], dropped=["r"]))
    assert again.sampled_token_ids == {"r": first}


def test_step_queued_before_its_predecessor_ends_uses_its_sample(driver: WorkerDriver) -> None:
    expected = driver.generate(PROMPT, 5)
    steps = [driver.plan({"r": 150}, new=[request("r", PROMPT, 20)])]
    steps += [driver.plan({"r": 1}, cached={"r": 150 + i}) for i in range(4)]
    futures = [driver.executor.execute(step) for step in steps]
    results = [future.result(timeout=60) for future in futures]
    assert [result.sampled_token_ids["r"] for result in results] == [(token,) for token in expected]
    assert [result.step_id for result in results] == [step.step_id for step in steps]


def test_step_of_several_passes_equals_several_steps(driver: WorkerDriver) -> None:
    expected = driver.generate(PROMPT, 12, params=DRAWN)
    tokens = tokens_of(driver.run(driver.plan({"r": 150}, new=[request("r", PROMPT, 20, DRAWN)])))
    for done, passes in ((150, 3), (153, 1), (154, 7)):
        step = driver.plan({"r": 1}, cached={"r": done})
        tokens += tokens_of(driver.run(replace(step, passes=passes)))
    assert tokens == expected


def test_step_samples_only_if_it_reaches_the_last_token(driver: WorkerDriver) -> None:
    result = driver.run(driver.plan({"r": 149}, new=[request("r", PROMPT, 0)]))
    assert result.sampled_token_ids == {}
    assert result.seconds > 0
    assert set(driver.run(driver.plan({"r": 1}, cached={"r": 149})).sampled_token_ids) == {"r"}


def test_stop_token_is_barred_before_min_tokens_after_preemption(driver: WorkerDriver) -> None:
    likeliest = driver.generate(PROMPT, 1)[0]
    barred = SamplingParams(temperature=0.0, stop_token_ids=(likeliest,), min_tokens=4)
    head = driver.generate(PROMPT, 2, params=barred)
    tail = driver.generate((*PROMPT, *head), 2, params=barred, prompt_len=len(PROMPT))
    assert likeliest not in head + tail
    # With `prompt_len` one shorter, the last token counts as generated, so min_tokens 1 is reached.
    free = SamplingParams(temperature=0.0, stop_token_ids=(likeliest,), min_tokens=1)
    assert driver.generate(PROMPT, 1, params=free, prompt_len=len(PROMPT) - 1) == [likeliest]
