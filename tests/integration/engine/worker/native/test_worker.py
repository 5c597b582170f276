"""The worker with the native step, and the cases in which it falls back to the torch model."""

import logging
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import torch

from cache_tiers.transfer import BlockCopy, Direction, TransferJob
from engine.api.errors import EngineError
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.cpu.library import Kernels
from engine.cpu.weights import PackedModel
from engine.request.scheduler_output import NewRequestData
from engine.worker.batch.input_batch import ScheduledRequest
from engine.worker.native import selection
from engine.worker.native.native_step import NativeRunner
from engine.worker.native.selection import pack_for_native
from engine.worker.worker import Worker
from models.registry import read_config
from models.weights.folder import ModelFolder
from tests.integration.worker_driver import GREEDY, WorkerDriver
from tests.native_rig import ROW, KernelsFor, NativeRig, load_bfloat16
from tests.tiny_models import make_tiny_model
from tests.waiting import until

PROMPT = tuple(int(token) for token in torch.randint(3, 250, (400,), generator=torch.Generator().manual_seed(4)))
DRAWN = SamplingParams(temperature=1.0, top_p=0.95, seed=99)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("native") / "tiny", hidden=192, heads=3, kv_heads=1)


@pytest.fixture
def config(model: Path, kernels: KernelsFor) -> EngineConfig:
    return EngineConfig(
        model=ModelConfig(path=model, name="tiny"),
        cache=CacheConfig(tiers=None, secret=b"secret"),
        device=DeviceConfig(cache_dir=kernels("auto").build.path.parent.parent, cpu_kernels="auto"),
    )


@pytest.fixture
def driver(model: Path, config: EngineConfig) -> Iterator[WorkerDriver]:
    driver = WorkerDriver(model, config=config)
    yield driver
    driver.executor.close()


def kv_blocks(driver: WorkerDriver) -> torch.Tensor:
    cache = driver.worker._cache
    assert cache is not None
    return cache.pool.blocks.view(torch.int16)


@pytest.mark.parametrize("params", [GREEDY, DRAWN], ids=["greedy", "drawn"])
@pytest.mark.parametrize("chunk", [1, 7, 64, 100, 399])
def test_chunk_size_does_not_change_the_tokens(driver: WorkerDriver, chunk: int, params: SamplingParams) -> None:
    assert driver.generate(PROMPT, 12, params=params, chunk=chunk) == driver.generate(PROMPT, 12, params=params)


@pytest.mark.parametrize("params", [GREEDY, DRAWN], ids=["greedy", "drawn"])
def test_preempted_request_resumes_with_the_same_tokens(driver: WorkerDriver, params: SamplingParams) -> None:
    whole = driver.generate(PROMPT, 20, params=params)
    head = driver.generate(PROMPT, 8, params=params)
    tail = driver.generate((*PROMPT, *head), 12, params=params, blocks=range(30, 50), chunk=60, prompt_len=len(PROMPT))
    assert head + tail == whole


def test_greedy_and_sampled_rows_of_a_step_equal_lone_requests(driver: WorkerDriver) -> None:
    params = {"a": GREEDY, "b": DRAWN, "c": SamplingParams(top_k=50, seed=5), "d": GREEDY}
    prompts = {"a": PROMPT[:40], "b": PROMPT[5:300], "c": PROMPT[90:91], "d": PROMPT}
    new = [
        NewRequestData(name, prompts[name], len(prompts[name]), tuple(range(8 * i, 8 * i + 8)), 0, params[name])
        for i, name in enumerate(params)
    ]
    together = driver.run(driver.plan({name: len(prompts[name]) for name in params}, new=new)).sampled_token_ids
    driver.run(driver.plan(dropped=params))
    alone = {name: driver.generate(prompts[name], 1, params=params[name])[0] for name in params}
    assert together == {name: (token,) for name, token in alone.items()}


@pytest.mark.parametrize("params", [GREEDY, DRAWN], ids=["greedy", "drawn"])
@pytest.mark.parametrize("passes", [1, 3])
def test_step_queued_before_its_predecessor_ends_uses_its_sample(
    driver: WorkerDriver, passes: int, params: SamplingParams
) -> None:
    expected = driver.generate(PROMPT, 13, params=params)
    first = NewRequestData("r", PROMPT, len(PROMPT), tuple(range(20, 28)), 0, params)
    steps = [driver.plan({"r": len(PROMPT)}, new=[first])]
    steps += [
        replace(driver.plan({"r": 1}, cached={"r": len(PROMPT) + at}), passes=passes) for at in range(0, 12, passes)
    ]
    futures = [driver.executor.execute(step) for step in steps]
    tokens = [token for future in futures for token in future.result(timeout=60).sampled_token_ids["r"]]
    assert tokens == expected


def test_block_copies_keep_their_order_among_queued_steps(driver: WorkerDriver) -> None:
    """Store block 0 while queued steps overwrite it, then load it into another block."""
    expected = driver.generate(PROMPT, 2, blocks=range(8))
    other = NewRequestData("other", PROMPT[100:300], 200, (0, 30, 31, 32), 0, GREEDY)
    again = NewRequestData("again", PROMPT, len(PROMPT), (40, *range(1, 8)), 384, GREEDY)
    steps = [
        driver.plan(stores=[TransferJob(1, Direction.STORE, 0, driver.block_nbytes)]),
        driver.plan({"other": 200}, new=[other]),
        driver.plan({"again": 16}, new=[again], loads=[TransferJob(2, Direction.LOAD, 40, driver.block_nbytes)]),
        replace(driver.plan({"again": 1}, cached={"again": 400}), copies=(BlockCopy(40, 41),)),
    ]
    results = [future.result(timeout=60) for future in [driver.executor.execute(step) for step in steps]]
    assert [result.sampled_token_ids.get("again") for result in results[2:]] == [(token,) for token in expected]
    assert [each.error for result in results for each in result.transfers] == [None, None]
    assert all(each.seconds > 0 for result in results for each in result.transfers)
    kv = kv_blocks(driver)
    assert torch.equal(kv[40], kv[41])
    assert not torch.equal(kv[40], kv[0])


def test_impossible_copy_fails_alone(driver: WorkerDriver) -> None:
    jobs = [TransferJob(1, Direction.STORE, 9999, 0), TransferJob(2, Direction.STORE, 0, 0)]
    results = {each.job_id: each.error for each in driver.run(driver.plan(stores=jobs)).transfers}
    assert results.pop(2) is None
    assert "block 9999 is outside" in str(results[1])


def test_failed_step_fails_only_the_steps_that_depend_on_it(driver: WorkerDriver) -> None:
    expected = driver.generate(PROMPT, 2)
    bad = NewRequestData("bad", (5, 259, 7), 3, (20,), 0, GREEDY)
    steps = [
        driver.plan({"bad": 3}, new=[bad]),
        driver.plan({"bad": 1}, cached={"bad": 3}),
        driver.plan({"r": 400}, new=[NewRequestData("r", PROMPT, 400, tuple(range(8)), 0, GREEDY)], dropped=["bad"]),
        driver.plan({"r": 1}, cached={"r": 400}),
    ]
    futures = [driver.executor.execute(step) for step in steps]
    with pytest.raises(EngineError, match="not in the vocabulary"):
        futures[0].result(timeout=60)
    with pytest.raises(EngineError, match="the step before chose no such token"):
        futures[1].result(timeout=60)
    assert [future.result(timeout=60).sampled_token_ids["r"] for future in futures[2:]] == [(t,) for t in expected]


def test_stop_token_is_not_sampled_before_min_tokens(driver: WorkerDriver) -> None:
    likeliest = driver.generate(PROMPT, 1)[0]
    barred = SamplingParams(temperature=0.0, stop_token_ids=(likeliest,), min_tokens=4)
    assert likeliest not in driver.generate(PROMPT, 4, params=barred)
    assert driver.generate(PROMPT, 1, params=SamplingParams(temperature=0.0, stop_token_ids=(likeliest,))) == [
        likeliest
    ]


def test_unknown_token_id_is_refused_without_harm_to_later_steps(driver: WorkerDriver) -> None:
    expected = driver.generate(PROMPT, 3)
    with pytest.raises(EngineError, match="a token id is not in the vocabulary"):
        driver.generate((5, 259, 7), 1)
    driver.run(driver.plan(dropped=["r"]))
    assert driver.generate(PROMPT, 3) == expected


def test_torch_keeps_one_thread_alongside_the_native_step(driver: WorkerDriver) -> None:
    assert driver.executor.call(torch.get_num_threads) == 1


def test_numerics_id_names_the_native_build_or_torch(model: Path, config: EngineConfig) -> None:
    names = set()
    for instruction_set in ("auto", "portable", "torch"):
        worker = Worker(config.with_fields(cpu_kernels=instruction_set))
        worker.load()
        # Digests of the sources and the compiler, or the version of torch, follow.
        name = re.match(r"native-\w+|torch", worker.numerics_id())
        assert name is not None
        names.add(name[0])
        worker.close()
    best = pack_and_name(config)
    assert names == {f"native-{best}", "native-portable", "torch"}


def pack_and_name(config: EngineConfig) -> str:
    packed = pack_for_native(config, load_bfloat16(config.model.path), lambda _: None, threads=1)
    assert packed is not None
    return packed.kernels.build.instruction_set.name


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"dtype": "float32"}, "the native step computes in bfloat16, not float32"),
        ({"block_size": 16}, "the native step needs blocks of 64 tokens, not 16"),
        ({"cache_dir": None}, "there is no cache directory to keep compiled kernels in"),
    ],
)
def test_fallback_to_torch_is_logged_with_its_reason(
    model: Path, config: EngineConfig, caplog: pytest.LogCaptureFixture, changes: dict[str, object], reason: str
) -> None:
    driver = WorkerDriver(model, config=config.with_fields(**changes))
    assert "using the torch model" in caplog.text
    assert f"because {reason}" in caplog.text
    assert len(driver.generate(PROMPT[:20], 2)) == 2
    driver.executor.close()


def test_model_with_unsupported_head_dim_falls_back_to_torch(
    tmp_path: Path, config: EngineConfig, caplog: pytest.LogCaptureFixture
) -> None:
    folder = make_tiny_model(tmp_path / "narrow", hidden=64, heads=4, kv_heads=2)
    worker = Worker(config.with_fields(path=folder))
    worker.load()
    assert "because the kernels support head_dim 64, 80, 96, 128, 256, not 16" in caplog.text
    worker.close()


def test_native_step_is_logged_with_its_instruction_set(config: EngineConfig, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    pack_and_name(config.with_fields(cpu_kernels="portable"))
    assert "using the native step: portable, bfloat16 weights, 1 threads" in caplog.text


@pytest.mark.parametrize("quantization", ["int8", "int4"])
def test_quantized_weights_have_their_own_numerics_id(model: Path, config: EngineConfig, quantization: str) -> None:
    driver = WorkerDriver(model, config=config.with_fields(quantization=quantization))
    assert driver.worker.numerics_id().endswith(f";{quantization}-levelled")
    assert driver.generate(PROMPT, 8, chunk=50) == driver.generate(PROMPT, 8)
    driver.executor.close()


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"quantization": "int3"}, "quantization 'int3' is not one of none, int8, int4"),
        ({"quantization": "int8", "dtype": "float32"}, "--quantization int8 is not possible here: the native step"),
        ({"quantization": "int8", "cpu_kernels": "torch"}, "not possible here: the torch model was chosen"),
    ],
)
def test_impossible_int8_weights_are_refused(config: EngineConfig, changes: dict[str, object], complaint: str) -> None:
    with pytest.raises(EngineError, match=complaint):
        pack_for_native(config.with_fields(**changes), load_bfloat16(config.model.path), print, threads=1)


def test_instruction_set_missing_from_the_cpu_is_refused(config: EngineConfig) -> None:
    with pytest.raises(EngineError, match="cannot run kernels for 'avx1024'"):
        pack_for_native(config.with_fields(cpu_kernels="avx1024"), load_bfloat16(config.model.path), print, threads=1)


def packed(kernels: Kernels, model: Path) -> PackedModel:
    return PackedModel(kernels, read_config(ModelFolder(model).config()), load_bfloat16(model), threads=1)


def test_packing_frees_the_matrices_of_the_torch_model(model: Path, kernels: KernelsFor) -> None:
    network = load_bfloat16(model)
    matrices = [slot for name, slot in network.slots().items() if slot.dim() == 2 and "embed" not in name]
    assert sum(slot.untyped_storage().nbytes() for slot in matrices) > 0
    PackedModel(kernels("auto"), read_config(ModelFolder(model).config()), network, threads=2)
    assert sum(slot.untyped_storage().nbytes() for slot in matrices) == 0


@pytest.mark.parametrize("has_neighbours", [False, True])
def test_model_with_neighbours_is_packed_at_a_low_priority(
    config: EngineConfig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, has_neighbours: bool
) -> None:
    usual, found, pack = os.getpriority(os.PRIO_PROCESS, 0), set[int](), Kernels.pack_rows

    def noted(*args: Any, **kwargs: Any) -> None:
        found.add(os.getpriority(os.PRIO_PROCESS, 0))
        pack(*args, **kwargs)

    monkeypatch.setattr(Kernels, "pack_rows", noted)
    # Tests may run at a lower priority than a load.
    monkeypatch.setattr(selection, "LOAD_NICENESS", usual + 1)
    config = config.with_fields(step_turns=tmp_path if has_neighbours else None)
    assert pack_for_native(config, load_bfloat16(config.model.path), print, threads=2) is not None
    assert found == {usual + has_neighbours}
    assert os.getpriority(os.PRIO_PROCESS, 0) == usual


def test_dropped_runner_ends_its_threads(model: Path, kernels: KernelsFor) -> None:
    def threads() -> set[str]:
        return {task.name for task in Path("/proc/self/task").iterdir()}

    model_of_kernels = packed(kernels("auto"), model)
    kv = torch.zeros((1, 2, 2, 1, 64, 64), dtype=torch.bfloat16)
    before = threads()
    runner = NativeRunner(model_of_kernels, kv, threads=4)
    started = threads() - before
    assert len(started) == 4
    del runner
    until(lambda: not started & threads())


def test_two_threads_can_wait_for_two_steps(kernels: KernelsFor, model: Path) -> None:
    rig = NativeRig(kernels("auto"), model, num_blocks=40)
    runner = rig.runners[1]
    for _ in range(20):
        streams = [rig.start(PROMPT) for _ in range(4)]
        long, short = [
            runner.start(
                [
                    ScheduledRequest(
                        request_id=str(i), token_ids=s.tokens, context_len=0, block_ids=s.blocks, sampling=(ROW,)
                    )
                    for i, s in enumerate(part)
                ]
            )
            for part in (streams[:3], streams[3:])
        ]
        # Each thread starts to wait while the first step is still being computed.
        waiting = [Thread(target=runner.wait, args=(step,), daemon=True) for step in (long, short)]
        for thread in waiting:
            thread.start()
        for thread in waiting:
            thread.join(20.0)
            assert not thread.is_alive(), "a thread was never woken"
        for step in (long, short):
            runner.finish(step)
        for stream in streams:
            rig.end(stream)
