"""Fallbacks where the native step is unavailable, and the log lines and errors that report them."""

from pathlib import Path

import pytest
import torch

from engine.api.errors import EngineError
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.worker.worker import Worker
from models.layers.linear import can_prepack
from models.weights.folder import ModelFolder
from models.weights.weights import map_tensor
from tests.integration.worker_driver import WorkerDriver
from tests.tiny_models import make_tiny_model

PROMPT = tuple(range(20, 60))


def config(model: Path, cache_dir: Path | None, cpu_kernels: str = "auto") -> EngineConfig:
    return EngineConfig(
        model=ModelConfig(path=model, name="tiny"),
        cache=CacheConfig(tiers=None, secret=b"secret"),
        device=DeviceConfig(cache_dir=cache_dir, cpu_kernels=cpu_kernels),
    )


def test_missing_compiler_is_logged_with_its_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = make_tiny_model(tmp_path / "model", hidden=192, heads=3, kv_heads=1)
    monkeypatch.setenv("PATH", str(tmp_path))
    driver = WorkerDriver(folder, config=config(folder, tmp_path / "cache"))
    packed, cost = (" with weights packed for oneDNN", "2 to 4") if can_prepack(torch.bfloat16) else ("", "3 to 5")
    assert f"using the torch model{packed}, because there is no C++ compiler" in caplog.text
    assert f"decoding takes {cost} times as long as with the native step" in caplog.text
    plain = WorkerDriver(folder, config=config(folder, None, "torch"))
    assert driver.generate(PROMPT, 5) == plain.generate(PROMPT, 5)
    driver.executor.close()
    plain.executor.close()


def test_onednn_kernels_are_refused_for_float32(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "model")
    worker = Worker(
        EngineConfig(
            model=ModelConfig(path=folder, name="tiny", dtype="float32"),
            cache=CacheConfig(tiers=None, secret=b"secret"),
            device=DeviceConfig(cpu_kernels="onednn"),
        )
    )
    with pytest.raises(EngineError, match=r"--cpu-kernels onednn is not possible here: .* float32"):
        worker.load()


def test_tensor_missing_from_every_file_is_named(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "model")
    with pytest.raises(Exception, match=r"the tensor lm_tail.weight is in none of the files in .*model"):
        map_tensor(ModelFolder(folder).weight_files(), "lm_tail.weight")


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ({"head_dim": 32}, "the kernels support head_dim 64, 80, 96, 128, 256, not 32"),
        ({"head_dim": 80, "heads": 2, "kv_heads": 1}, "num_key_value_heads * head_dim 80 is not a multiple of 32"),
    ],
)
def test_heads_without_kernels_are_named_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, shape: dict[str, int], reason: str
) -> None:
    folder = make_tiny_model(tmp_path / "model", **shape)  # type: ignore[arg-type]
    worker = Worker(config(folder, tmp_path / "cache"))
    worker.load()
    assert f"because {reason}" in caplog.text
    worker.close()
