"""The worker with the native step inside, and when it takes the torch model instead."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from engine.config import EngineConfig
from engine.cpu.library import Kernels
from engine.cpu.runner import NativeRunner
from engine.cpu.selection import pack_for_native
from engine.cpu.weights import PackedModel
from engine.errors import EngineError
from engine.sampling_params import SamplingParams
from engine.scheduling.output import NewRequestData
from engine.worker.worker import Worker
from models.folder import ModelFolder
from models.pangu.config import PanguConfig
from tests.integration.worker_driver import GREEDY, WorkerDriver
from tests.native_rig import KernelsFor, load_bfloat16
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
        model, "tiny", None, b"secret", cache_dir=kernels("auto").build.path.parent.parent, cpu_kernels="auto"
    )


@pytest.fixture
def driver(model: Path, config: EngineConfig) -> Iterator[WorkerDriver]:
    driver = WorkerDriver(model, config=config)
    yield driver
    driver.executor.close()


def changed(config: EngineConfig, **changes: object) -> EngineConfig:
    fields = {name: getattr(config, name) for name in EngineConfig.__dataclass_fields__}
    return EngineConfig(**{**fields, **changes})


@pytest.mark.parametrize("params", [GREEDY, DRAWN], ids=["greedy", "drawn"])
@pytest.mark.parametrize("chunk", [1, 7, 64, 100, 399])
def test_the_cut_of_the_prompt_does_not_change_the_tokens(
    driver: WorkerDriver, chunk: int, params: SamplingParams
) -> None:
    assert driver.generate(PROMPT, 12, params=params, chunk=chunk) == driver.generate(PROMPT, 12, params=params)


@pytest.mark.parametrize("params", [GREEDY, DRAWN], ids=["greedy", "drawn"])
def test_a_preempted_request_goes_on_with_the_same_tokens(driver: WorkerDriver, params: SamplingParams) -> None:
    whole = driver.generate(PROMPT, 20, params=params)
    head = driver.generate(PROMPT, 8, params=params)
    tail = driver.generate((*PROMPT, *head), 12, params=params, blocks=range(30, 50), chunk=60, prompt_len=len(PROMPT))
    assert head + tail == whole


def test_greedy_and_drawn_rows_of_one_step_get_what_they_get_alone(driver: WorkerDriver) -> None:
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


def test_no_stop_token_is_sampled_before_min_tokens(driver: WorkerDriver) -> None:
    likeliest = driver.generate(PROMPT, 1)[0]
    barred = SamplingParams(temperature=0.0, stop_token_ids=(likeliest,), min_tokens=4)
    assert likeliest not in driver.generate(PROMPT, 4, params=barred)
    assert driver.generate(PROMPT, 1, params=SamplingParams(temperature=0.0, stop_token_ids=(likeliest,))) == [
        likeliest
    ]


def test_an_id_outside_the_vocabulary_is_refused_and_the_next_step_is_none_the_worse(driver: WorkerDriver) -> None:
    expected = driver.generate(PROMPT, 3)
    with pytest.raises(EngineError, match="a token id is not in the vocabulary"):
        driver.generate((5, 259, 7), 1)
    driver.run(driver.plan(dropped=["r"]))
    assert driver.generate(PROMPT, 3) == expected


def test_torch_keeps_one_thread_beside_the_native_step(driver: WorkerDriver) -> None:
    assert driver.executor.call(torch.get_num_threads) == 1


def test_the_numerics_id_names_the_build_and_nothing_of_torch(model: Path, config: EngineConfig) -> None:
    names = set()
    for instruction_set in ("auto", "portable", "torch"):
        worker = Worker(changed(config, cpu_kernels=instruction_set))
        worker.load()
        names.add(worker.numerics_id().partition(";")[0].rpartition("-")[0])
        worker.close()
    best = pack_and_name(config)
    assert names == {f"native-{best}", "native-portable", "cpu"}


def pack_and_name(config: EngineConfig) -> str:
    packed = pack_for_native(config, load_bfloat16(config.model_path), lambda _: None, threads=1)
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
def test_what_the_native_step_cannot_do_the_torch_model_does_and_the_log_says_why(
    model: Path, config: EngineConfig, caplog: pytest.LogCaptureFixture, changes: dict[str, object], reason: str
) -> None:
    driver = WorkerDriver(model, config=changed(config, **changes))
    assert "the torch model computes" in caplog.text
    assert f"because {reason}" in caplog.text
    assert len(driver.generate(PROMPT[:20], 2)) == 2
    driver.executor.close()


def test_a_model_whose_heads_have_another_size_is_left_to_torch(
    tmp_path: Path, config: EngineConfig, caplog: pytest.LogCaptureFixture
) -> None:
    folder = make_tiny_model(tmp_path / "narrow", hidden=64, heads=4, kv_heads=2)
    worker = Worker(changed(config, model_path=folder))
    worker.load()
    assert "because the kernels are made for head_dim 64 and 128, not 16" in caplog.text
    worker.close()


def test_the_log_says_that_the_native_step_computes(config: EngineConfig, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    pack_and_name(changed(config, cpu_kernels="portable"))
    assert "the native step computes: portable, bfloat16 weights, 1 threads" in caplog.text


def test_int8_weights_serve_and_their_kv_is_not_that_of_bfloat16(model: Path, config: EngineConfig) -> None:
    driver = WorkerDriver(model, config=changed(config, quantization="int8"))
    assert driver.worker.numerics_id().endswith(";int8")
    assert driver.generate(PROMPT, 8, chunk=50) == driver.generate(PROMPT, 8)
    driver.executor.close()


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"quantization": "int3"}, "quantization 'int3' is not one of none, int8"),
        ({"quantization": "int8", "dtype": "float32"}, "--quantization int8 is not possible here: the native step"),
        ({"quantization": "int8", "cpu_kernels": "torch"}, "not possible here: the torch model was chosen"),
    ],
)
def test_int8_weights_are_never_quietly_left_out(
    config: EngineConfig, changes: dict[str, object], complaint: str
) -> None:
    with pytest.raises(EngineError, match=complaint):
        pack_for_native(changed(config, **changes), load_bfloat16(config.model_path), print, threads=1)


def test_a_setting_that_this_cpu_cannot_run_is_refused(config: EngineConfig) -> None:
    with pytest.raises(EngineError, match="cannot run kernels for 'avx1024'"):
        pack_for_native(changed(config, cpu_kernels="avx1024"), load_bfloat16(config.model_path), print, threads=1)


def packed(kernels: Kernels, model: Path) -> PackedModel:
    return PackedModel(kernels, PanguConfig.from_json(ModelFolder(model).config()), load_bfloat16(model), threads=1)


def test_packing_gives_the_matrices_of_the_torch_model_back(model: Path, kernels: KernelsFor) -> None:
    network = load_bfloat16(model)
    matrices = [slot for name, slot in network.slots().items() if slot.dim() == 2 and "embed" not in name]
    assert sum(slot.untyped_storage().nbytes() for slot in matrices) > 0
    PackedModel(kernels("auto"), PanguConfig.from_json(ModelFolder(model).config()), network, threads=2)
    assert sum(slot.untyped_storage().nbytes() for slot in matrices) == 0


def test_a_runner_that_is_dropped_ends_its_threads(model: Path, kernels: KernelsFor) -> None:
    def threads() -> set[str]:
        return {task.name for task in Path("/proc/self/task").iterdir()}

    model_of_kernels = packed(kernels("auto"), model)
    kv = torch.zeros((1, 2, 2, 1, 64, 64), dtype=torch.bfloat16)
    before = threads()
    runner = NativeRunner(model_of_kernels, kv, threads=4)
    started = threads() - before
    assert len(started) == 3
    del runner
    until(lambda: not started & threads())
