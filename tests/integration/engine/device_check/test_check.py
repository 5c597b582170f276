"""The check of a device in a separate process: its verdict, its memory, and processes that fail or hang."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.device_check.check import device_problem
from tests.sizes import MANY_PROCESSES
from tests.tiny_models import make_tiny_model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("device_check") / "tiny")


@pytest.fixture
def config(model: Path, tmp_path: Path) -> EngineConfig:
    return EngineConfig(
        model=ModelConfig(path=model, name="tiny"),
        cache=CacheConfig(tiers=None, secret=b"secret"),
        device=DeviceConfig(kind="cuda", cache_dir=tmp_path),
    )


def check(config: EngineConfig, program: str, *, limit: float = 60.0) -> tuple[str, list[str]]:
    """Run `program` in place of the check. Return the problem and the progress that was reported."""
    said: list[str] = []
    problem = device_problem(config, said.append, command=(sys.executable, "-c", program), limit=limit)
    return problem, said


def test_real_check_passes_on_the_cpu_itself(config: EngineConfig) -> None:
    assert device_problem(config.with_fields(kind="cpu"), lambda _: None) == ""


@MANY_PROCESSES
def test_real_check_of_absent_device_gives_its_reason(config: EngineConfig) -> None:
    problem = device_problem(config, lambda _: None)
    assert problem == "cuda failed its check: this machine has no usable cuda device (found: none)"


def test_passed_check_is_not_repeated(config: EngineConfig) -> None:
    problem, said = check(config, "print('{\"distance\": 0.02}')")
    assert problem == ""
    assert said == ["checking cuda: 64 tokens there and on the CPU (once for this model and driver)"]
    assert check(config, "raise SystemExit(1)") == ("", [])


def test_passed_check_of_another_gpu_does_not_count(
    config: EngineConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    information = tmp_path / "gpus" / "0000:01:00.0" / "information"
    information.parent.mkdir(parents=True)
    monkeypatch.setattr("engine.device_check.check.GPUS", tmp_path / "gpus")
    information.write_text("Model: \t\t NVIDIA H200\nIRQ:   \t\t 90\n")
    check(config, "print('{\"distance\": 0.02}')")
    information.write_text("Model: \t\t NVIDIA H200\nIRQ:   \t\t 91\n")
    assert check(config, "raise SystemExit(3)") == ("", [])
    information.write_text("Model: \t\t NVIDIA A10\nIRQ:   \t\t 91\n")
    assert check(config, "raise SystemExit(3)")[0] == "cuda failed its check: the process ended with status 3"


def test_passed_check_of_the_other_visible_gpu_does_not_count(config: EngineConfig) -> None:
    check(config.with_fields(accelerators=("0",)), "print('{\"distance\": 0.02}')")
    problem, _ = check(config.with_fields(accelerators=("1",)), "raise SystemExit(3)")
    assert problem == "cuda failed its check: the process ended with status 3"


def test_passed_check_of_other_dtype_does_not_count(config: EngineConfig) -> None:
    check(config, "print('{\"distance\": 0.02}')")
    problem, _ = check(config.with_fields(dtype="float32"), "raise SystemExit(3)")
    assert problem == "cuda failed its check: the process ended with status 3"


def test_failed_check_is_repeated_at_next_start(config: EngineConfig) -> None:
    assert check(config, "raise SystemExit('out of memory')")[0] == "cuda failed its check: out of memory"
    assert check(config, "print('{\"distance\": 0.02}')")[0] == ""


@pytest.mark.parametrize(
    ("distance", "words"), [("0.5", "differ from the CPU's by 0.50 of their norm"), ("NaN", "are not finite")]
)
def test_logits_too_far_away_fail(distance: str, words: str, config: EngineConfig) -> None:
    problem, _ = check(config, f"print('{{\"distance\": {distance}}}')")
    assert problem == f"cuda failed its check: its logits {words}"


@pytest.fixture
def quantized(config: EngineConfig, tmp_path: Path) -> EngineConfig:
    folder = Path(shutil.copytree(config.model.path, tmp_path / "quantized"))
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"quantization_config": {"quant_method": "awq"}}))
    return config.with_fields(path=folder)


def test_quantized_folder_is_compared_on_the_device_itself(quantized: EngineConfig) -> None:
    problem, said = check(quantized, "print('{\"distance\": 0.5}')")
    assert said == ["checking cuda: 64 tokens there, with the cache and without (once for this model and driver)"]
    assert problem == "cuda failed its check: its logits differ from those without the cache by 0.50 of their norm"
    assert check(quantized, "print('{\"distance\": 0.02}')")[0] == ""


@pytest.mark.parametrize(("ranks", "stages"), [(2, 1), (1, 2)])
def test_divided_model_is_not_checked(config: EngineConfig, ranks: int, stages: int) -> None:
    divided = config.with_fields(tensor_parallel_size=ranks, pipeline_parallel_size=stages)
    problem, said = check(divided, "raise SystemExit(3)")
    assert (problem, said) == ("", ["not checking cuda, because several devices divide the model"])


def test_check_that_hangs_is_killed(config: EngineConfig) -> None:
    problem, _ = check(config, "import threading; threading.Event().wait()", limit=0.5)
    assert problem == "cuda failed its check: no result within 0.5 s"
