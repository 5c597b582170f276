"""Sliding windows on an NPU. The fused operator has none, so plain attention computes them there, as on the CPU."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from engine.api.errors import EngineError
from engine.api.sampling_params import SamplingParams
from engine.config import EngineConfig
from engine.request.scheduler_output import NewRequestData
from models.errors import UnsupportedModelError
from tests.contract.conftest import npu_opened
from tests.contract.npu_operators import NpuOperators
from tests.contract.npu_rig import npu_config, npu_driver, prompt
from tests.fake_npu.device import FakeNpu
from tests.family_models import FAMILIES, SHAPE, save_random
from tests.integration.worker_driver import WorkerDriver

PROMPTS = {"long": tuple(prompt(1, 300)), "short": tuple(prompt(2, 20))}
BLOCKS = {"long": range(4), "short": range(4, 6)}
CHUNK, STEPS = 110, 14
DRAWN = SamplingParams(temperature=1.0, seed=5)
"""The likeliest token of this model is the same after any prompt, with windows or without."""


@pytest.fixture(scope="module")
def gemma(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a model whose every second layer has a window of 40 tokens. The operators take its heads of 128."""
    kind, changes = FAMILIES["gemma3"]
    return save_random(tmp_path_factory.mktemp("windows") / "gemma3", kind, SHAPE | changes | {"head_dim": 128})


@pytest.fixture(scope="module")
def without_windows(gemma: Path) -> Path:
    """Write the same model with windows as long as the context."""
    folder = gemma.with_name("whole")
    shutil.copytree(gemma, folder)
    config = json.loads((gemma / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"sliding_window": 1024}))
    return folder


@contextmanager
def opened(config: EngineConfig) -> Iterator[WorkerDriver]:
    driver = npu_driver(config)
    try:
        yield driver
    finally:
        driver.executor.close()


def tokens_of(driver: WorkerDriver) -> dict[str, list[int]]:
    """Compute the long prompt in chunks while the other request decodes, and then decode both."""
    new = [NewRequestData(name, ids, len(ids), tuple(BLOCKS[name]), 0, DRAWN) for name, ids in PROMPTS.items()]
    computed = dict.fromkeys(PROMPTS, 0)
    made = {name: list[int]() for name in PROMPTS}
    for _ in range(STEPS):
        left = {name: len(PROMPTS[name]) + len(made[name]) - done for name, done in computed.items()}
        scheduled = {name: min(CHUNK, count) for name, count in left.items()}
        result = driver.run(driver.plan(scheduled, new=new, cached={} if new else computed))
        new = []
        computed = {name: computed[name] + count for name, count in scheduled.items()}
        for name, sampled in result.sampled_token_ids.items():
            made[name] += sampled
    return made


def tokens_on_cpu(model: Path, dtype: str) -> dict[str, list[int]]:
    config = npu_config(model).with_fields(kind="cpu", cpu_kernels="torch", dtype=dtype)
    with opened(config) as driver:
        return tokens_of(driver)


def refuse(raw: Mapping[str, Any]) -> None:
    raise UnsupportedModelError(f"the shared decoder leaves {raw['model_type']} to transformers")


@pytest.mark.parametrize(("code", "dtype"), [("shared decoder", "float32"), ("transformers", "bfloat16")])
def test_windows_on_an_npu_give_the_tokens_of_the_cpu(
    npu_operators: NpuOperators,
    gemma: Path,
    without_windows: Path,
    code: str,
    dtype: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if code == "transformers":
        monkeypatch.setattr("models.registry.read_config", refuse)
    expected, whole = (tokens_on_cpu(model, dtype) for model in (gemma, without_windows))
    with npu_opened(npu_operators), opened(npu_config(gemma).with_fields(dtype=dtype)) as driver:
        found, numerics = tokens_of(driver), driver.worker.numerics_id()
    assert found == expected
    assert found["long"] != whole["long"], "no token depends on the windows"
    assert numerics.startswith("torch-1;")
    assert f";fake;{dtype}" in numerics
    assert ("transformers" in numerics) == (code == "transformers")


def test_plain_attention_is_chosen_with_its_reason(npu: FakeNpu, gemma: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with opened(npu_config(gemma)) as driver:
        assert tokens_of(driver)["long"]
    assert "attention on npu: torch (" in caplog.text
    assert "npu: does not compute sliding windows" in caplog.text


def test_fused_attention_by_name_is_refused_for_windows(npu: FakeNpu, gemma: Path) -> None:
    with pytest.raises(EngineError, match="--attention npu: does not compute sliding windows"):
        npu_driver(npu_config(gemma, attention="npu"))
