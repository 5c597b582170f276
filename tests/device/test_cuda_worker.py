"""A small float32 openPangu on a GPU: captured decodes, restored prefixes, and the tokens of the reference backend."""

from dataclasses import replace
from pathlib import Path

import pytest

from cache_tiers.transfer import Direction, TransferJob
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.request.scheduler_output import NewRequestData
from engine.worker.torch.accelerator import AcceleratorDevice
from tests.device.model import pangu
from tests.integration.worker_driver import GREEDY, WorkerDriver, tokens_of

PROMPT = [3 + (31 + at * 8 + at // 11) % 250 for at in range(300)]
BLOCK = 64


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pangu(tmp_path_factory.mktemp("cuda"))


def cuda_driver(model: Path, *, graphs: bool = True, attention: str = "auto") -> WorkerDriver:
    config = EngineConfig(
        model=ModelConfig(path=model, name="pangu", dtype="float32"),
        cache=CacheConfig(tiers=None, secret=b"secret", block_size=BLOCK),
        device=DeviceConfig(kind="cuda"),
    )
    config = config.with_fields(decode_graphs=graphs, attention=attention, max_num_seqs=4)
    return WorkerDriver(model, config=config, num_blocks=24, host_blocks=4)


def test_captured_and_eager_decodes_match_reference_tokens(cuda: AcceleratorDevice, model: Path) -> None:
    tokens = []
    for graphs, attention in ((True, "auto"), (False, "auto"), (False, "torch"), (False, "reference")):
        driver = cuda_driver(model, graphs=graphs, attention=attention)
        tokens.append(driver.generate(PROMPT, 20, blocks=range(6), chunk=128))
        driver.executor.close()
    assert tokens == tokens[-1:] * 4


def test_gpu_captures_decode_graphs(cuda: AcceleratorDevice, model: Path, caplog: pytest.LogCaptureFixture) -> None:
    cuda_driver(model).executor.close()
    assert "run without graphs" not in caplog.text


def test_captured_chunks_give_tokens_of_plain_steps(cuda: AcceleratorDevice, model: Path) -> None:
    tokens = []
    for graphs, attention in ((True, "auto"), (False, "auto"), (False, "reference")):
        driver = cuda_driver(model, graphs=graphs, attention=attention)
        other = tuple(reversed(PROMPT[:200]))
        new = [
            NewRequestData("a", tuple(PROMPT), len(PROMPT), tuple(range(6)), 0, GREEDY),
            NewRequestData("b", other, len(other), tuple(range(6, 11)), 0, GREEDY),
        ]
        results = [driver.run(driver.plan({"a": 300, "b": 50}, new=new))]
        done = 50
        for step, count in enumerate((2, 63, 64, 21)):
            cached = {"a": len(PROMPT) + step, "b": done}
            results.append(driver.run(driver.plan({"a": 1, "b": count}, cached=cached)))
            done += count
        results += [
            driver.run(driver.plan({"a": 1, "b": 1}, cached={"a": len(PROMPT) + 4 + at, "b": 200 + at}))
            for at in range(3)
        ]
        tokens.append([dict(result.sampled_token_ids) for result in results])
        driver.executor.close()
    assert tokens[0] == tokens[1] == tokens[2]


def test_steps_queued_before_any_result_give_same_tokens(cuda: AcceleratorDevice, model: Path) -> None:
    params = SamplingParams(temperature=0.8, top_k=40, repetition_penalty=1.2, seed=3)
    driver = cuda_driver(model)
    tokens = driver.generate(PROMPT, 8, params=params, blocks=range(6))
    new = NewRequestData("r", tuple(PROMPT), len(PROMPT), tuple(range(6)), 0, params)
    steps = [driver.plan({"r": len(PROMPT)}, new=[new])]
    steps += [driver.plan({"r": 1}, cached={"r": len(PROMPT) + done}) for done in range(7)]
    collects = [driver.executor.call(driver.worker.submit, step) for step in steps]
    assert [token for collect in collects for token in tokens_of(collect())] == tokens
    driver.executor.close()


def test_captured_draft_gives_tokens_of_plain_decodes(cuda: AcceleratorDevice, model: Path) -> None:
    driver = cuda_driver(model)
    tokens = driver.generate(PROMPT, 6, blocks=range(6))
    new = NewRequestData("r", tuple(PROMPT), len(PROMPT), tuple(range(6)), 0, GREEDY)
    drafted = tokens_of(driver.run(driver.plan({"r": len(PROMPT)}, new=[new])))
    step = driver.plan({"r": 5}, cached={"r": len(PROMPT)})
    drafted += tokens_of(driver.run(replace(step, drafts={"r": tuple(tokens[1:5])})))
    assert drafted == tokens
    driver.executor.close()


def test_restored_prefix_gives_same_tokens(cuda: AcceleratorDevice, model: Path) -> None:
    driver = cuda_driver(model)
    size = driver.block_nbytes
    new = NewRequestData("first", tuple(PROMPT), len(PROMPT), tuple(range(6)), 0, GREEDY)
    stores = [TransferJob(at, Direction.STORE, at, at * size) for at in range(4)]
    first = tokens_of(driver.run(driver.plan({"first": len(PROMPT)}, new=[new], stores=stores)))
    back = NewRequestData("back", tuple(PROMPT), len(PROMPT), tuple(range(10, 16)), 4 * BLOCK, GREEDY)
    loads = [TransferJob(10 + at, Direction.LOAD, 10 + at, at * size) for at in range(4)]
    driver.run(driver.plan(loads=loads, dropped=["first"]))
    assert tokens_of(driver.run(driver.plan({"back": len(PROMPT) - 4 * BLOCK}, new=[back]))) == first
    driver.executor.close()
