"""The worker on the NPU backend computes the oracle's tokens for every kind of step that a scheduler can send."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cache_tiers.transfer import BlockCopy, Direction, TransferJob
from engine.api.errors import EngineError
from engine.api.sampling_params import SamplingParams
from engine.request.scheduler_output import NewRequestData
from tests.contract.conftest import npu_opened
from tests.contract.npu_operators import NpuOperators
from tests.contract.npu_rig import BLOCK, BLOCK_NBYTES, GREEDY, npu_config, npu_driver, prompt
from tests.fake_npu.faults import MissingEventError
from tests.integration.worker_driver import WorkerDriver, tokens_of

PROMPT = prompt(1, 300)
DRAWN = SamplingParams(temperature=1.0, top_p=0.95, seed=99)
BLOCKS = tuple(range(4))


@pytest.fixture(scope="module")
def driver(npu_operators: NpuOperators, pangu: Path) -> Iterator[WorkerDriver]:
    with npu_opened(npu_operators):
        driver = npu_driver(npu_config(pangu))
        yield driver
        driver.executor.close()


@pytest.fixture(scope="module")
def expected(npu_operators: NpuOperators, pangu: Path) -> list[int]:
    """Compute the oracle's tokens, with the same layers and without graphs."""
    with npu_opened(npu_operators):
        oracle = npu_driver(npu_config(pangu, attention="reference"))
        tokens = oracle.generate(PROMPT, 12, blocks=BLOCKS)
        oracle.executor.close()
    return tokens


def test_greedy_tokens_match_oracle(driver: WorkerDriver, expected: list[int]) -> None:
    assert len(set(expected)) > 3
    assert driver.generate(PROMPT, 12, blocks=BLOCKS) == expected


@pytest.mark.parametrize("chunk", [1, 100, 128, 299])
def test_chunk_size_of_prompt_does_not_change_tokens(driver: WorkerDriver, expected: list[int], chunk: int) -> None:
    if chunk == 1:
        short = PROMPT[:131]
        assert driver.generate(short, 2, blocks=range(4, 8), chunk=1) == driver.generate(short, 2, blocks=BLOCKS)
    else:
        assert driver.generate(PROMPT, 4, blocks=range(4, 8), chunk=chunk) == expected[:4]


def test_every_operator_of_model_is_fused(driver: WorkerDriver, npu_operators: NpuOperators) -> None:
    npu_operators.calls.clear()
    driver.generate(PROMPT[:5], 1, blocks=BLOCKS)
    per_layer = {"npu_rms_norm", "npu_add_rms_norm", "npu_rotary_mul", "npu_swiglu"}
    assert set(npu_operators.calls) == per_layer | {"npu_scatter_pa_kv_cache", "npu_fused_infer_attention_score"}


def test_prompts_and_decodes_in_one_batch_are_independent(driver: WorkerDriver) -> None:
    prompts = {"a": prompt(2, 60), "b": prompt(3, 140), "c": prompt(4, 3)}
    params = {"a": GREEDY, "b": DRAWN, "c": GREEDY}
    alone = {name: driver.generate(prompts[name], 4, params=params[name], blocks=BLOCKS) for name in prompts}
    together: dict[str, list[int]] = {name: [] for name in prompts}
    computed: dict[str, int] = {}
    for number in range(7):
        new = []
        if number < len(prompts):
            name = "abc"[number]
            tokens = tuple(prompts[name])
            new = [NewRequestData(name, tokens, len(tokens), tuple(range(4 * number, 4 * number + 4)), 0, params[name])]
            computed[name] = 0
        scheduled = {name: min(90, len(prompts[name]) + len(together[name]) - done) for name, done in computed.items()}
        cached = {name: done for name, done in computed.items() if done}
        result = driver.run(driver.plan(scheduled, new=new, cached=cached))
        computed = {name: computed[name] + count for name, count in scheduled.items()}
        for name, sampled in result.sampled_token_ids.items():
            together[name] += sampled
    driver.run(driver.plan(dropped=prompts))
    assert {name: tokens[:4] for name, tokens in together.items()} == alone


def test_preempted_request_resumes_with_same_tokens(driver: WorkerDriver) -> None:
    whole = driver.generate(PROMPT, 8, params=DRAWN, blocks=BLOCKS)
    again = [*PROMPT, *whole[:3]]
    tail = driver.generate(again, 5, params=DRAWN, blocks=range(8, 12), chunk=200, prompt_len=len(PROMPT))
    assert whole[:3] + tail == whole


def test_several_passes_of_step_equal_as_many_steps(driver: WorkerDriver, expected: list[int]) -> None:
    new = NewRequestData("r", tuple(PROMPT), len(PROMPT), BLOCKS, 0, GREEDY)
    tokens = tokens_of(driver.run(driver.plan({"r": len(PROMPT)}, new=[new])))
    tokens += tokens_of(driver.run(replace(driver.plan({"r": 1}, cached={"r": len(PROMPT)}), passes=5)))
    driver.run(driver.plan(dropped=["r"]))
    assert tokens == expected[:6]


def moves(direction: Direction, blocks: range) -> list[TransferJob]:
    return [TransferJob(at, direction, block, at * BLOCK_NBYTES) for at, block in enumerate(blocks)]


def test_prefix_stored_to_host_and_loaded_is_unchanged(driver: WorkerDriver, expected: list[int]) -> None:
    new = NewRequestData("first", tuple(PROMPT), len(PROMPT), BLOCKS, 0, GREEDY)
    stored = driver.run(driver.plan({"first": len(PROMPT)}, new=[new], stores=moves(Direction.STORE, range(2))))
    assert not stored.transfers
    stored = driver.run(driver.plan(dropped=["first"]))
    assert [(result.job_id, result.error) for result in stored.transfers] == [(0, None), (1, None)]
    assert stored.transfers[0].seconds > 0

    loaded = driver.run(driver.plan(loads=moves(Direction.LOAD, range(8, 10))))
    assert [(result.job_id, result.error) for result in loaded.transfers] == [(0, None), (1, None)]
    back = NewRequestData("back", tuple(PROMPT), len(PROMPT), (8, 9, 10), 2 * BLOCK, GREEDY)
    restored = tokens_of(driver.run(driver.plan({"back": len(PROMPT) - 2 * BLOCK}, new=[back])))
    for done in range(len(PROMPT), len(PROMPT) + 5):
        restored += tokens_of(driver.run(driver.plan({"back": 1}, cached={"back": done})))
    driver.run(driver.plan(dropped=["back"]))
    assert restored == expected[:6]


def test_decodes_continue_while_other_blocks_load(driver: WorkerDriver, expected: list[int]) -> None:
    new = NewRequestData("r", tuple(PROMPT), len(PROMPT), BLOCKS, 0, GREEDY)
    tokens = tokens_of(driver.run(driver.plan({"r": len(PROMPT)}, new=[new])))
    loads, ended = moves(Direction.LOAD, range(8, 10)), list[int]()
    for done in range(len(PROMPT), len(PROMPT) + 11):
        result = driver.run(driver.plan({"r": 1}, cached={"r": done}, loads=loads))
        loads = []
        tokens += tokens_of(result)
        assert not ended or not result.transfers
        ended += [transfer.job_id for transfer in result.transfers]
        if done == len(PROMPT):
            assert not ended, "a decode waited for copies of another request"
    driver.run(driver.plan(dropped=["r"]))
    assert tokens == expected
    assert ended == [0, 1]


def test_request_reading_block_under_load_is_refused(driver: WorkerDriver) -> None:
    back = NewRequestData("back", tuple(PROMPT), len(PROMPT), (8, 9, 10), 2 * BLOCK, GREEDY)
    rest = {"back": len(PROMPT) - 2 * BLOCK}
    with pytest.raises(MissingEventError):
        driver.run(driver.plan(rest, new=[back], loads=moves(Direction.LOAD, range(8, 10))))
    driver.run(driver.plan(dropped=["back"]))


def test_failed_step_owes_results_of_its_transfers(driver: WorkerDriver) -> None:
    loads, stores = moves(Direction.LOAD, range(8, 10)), [TransferJob(7, Direction.STORE, 4, 2 * BLOCK_NBYTES)]
    with pytest.raises(EngineError, match="not in the batch"):
        driver.run(driver.plan({"nobody": 1}, loads=loads, stores=stores))
    ended = driver.run(driver.plan()).transfers
    assert {result.job_id: result.error for result in ended} == {0: None, 1: None, 7: "the step failed"}
    with pytest.raises(EngineError, match="not in the batch"):
        driver.run(driver.plan(cached={"nobody": 0}, loads=loads))
    assert not driver.run(driver.plan()).transfers


def test_block_copied_within_device_is_unchanged(driver: WorkerDriver, expected: list[int]) -> None:
    driver.generate(PROMPT, 1, blocks=BLOCKS)
    copies = tuple(BlockCopy(block, block + 10) for block in range(3))
    driver.run(replace(driver.plan(), copies=copies))
    new = NewRequestData("r", tuple(PROMPT), len(PROMPT), tuple(range(10, 14)), len(PROMPT) - 1, GREEDY)
    assert tokens_of(driver.run(driver.plan({"r": 1}, new=[new]))) == expected[:1]
    driver.run(driver.plan(dropped=["r"]))


def test_invalid_copies_are_reported_and_step_continues(driver: WorkerDriver) -> None:
    new = NewRequestData("r", tuple(PROMPT), len(PROMPT), BLOCKS, 0, GREEDY)
    far = [TransferJob(9, Direction.LOAD, 5, 1 << 40), TransferJob(10, Direction.STORE, 16, 0)]
    result = driver.run(driver.plan({"r": len(PROMPT)}, new=[new], loads=far[:1], stores=far[1:]))
    errors = [str(transfer.error) for transfer in result.transfers]
    assert "outside the CPU tier's pool" in errors[0]
    assert "outside the device pool of 16 blocks" in errors[1]
    driver.run(driver.plan(dropped=["r"]))
    assert set(result.sampled_token_ids) == {"r"}


def test_numerics_id_names_backend_torch_device_and_dtype(driver: WorkerDriver) -> None:
    name = driver.worker.numerics_id()
    assert name.startswith("npu-1;torch-")
    assert name.endswith(";npu;fake;bfloat16")
