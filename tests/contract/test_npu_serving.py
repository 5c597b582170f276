"""A start on a machine whose NPU passes its check: the server computes there, and `/health` says so."""

import asyncio
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.config.settings import Settings, load_settings
from app.host.startup import serving_config
from engine.device_check.check import device_problem
from tests.contract.npu_operators import NpuOperators
from tests.contract.npu_rig import BLOCK, prompt
from tests.fake_npu.device import FakeNpu
from tests.integration.real_server import serving

CHECK = (sys.executable, "-m", "tests.contract.checked_npu")
NO_DRIVER = (sys.executable, "-c", "raise SystemExit('error 107001: there is no driver')")


@pytest.fixture
def settings(pangu: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Load the settings of a server on a machine that seems to have an NPU."""
    monkeypatch.setattr("app.config.settings.choose_device", lambda wanted: "npu" if wanted == "auto" else wanted)
    folders = {"state-dir": str(tmp_path / "state"), "cache-dir": str(tmp_path / "cache"), "model": str(pangu)}
    sizes = {"kv-memory": "8MiB", "max-num-seqs": "2", "no-speculation": "true", "no-prefix-cache": "true"}
    return load_settings(folders | sizes, environ={})


def check_by(command: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.device_check.check.device_problem", partial(device_problem, command=command))


async def test_npu_that_passes_its_check_computes_the_answers(
    settings: Settings, npu: FakeNpu, npu_operators: NpuOperators, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    check_by(CHECK, monkeypatch)
    said: list[str] = []
    config = await asyncio.to_thread(serving_config, settings, Path(settings.model), said.append)
    assert (config.device.kind, config.cache.block_size, config.device.note) == ("npu", BLOCK, "")
    assert said == ["checking npu: 64 tokens there and on the CPU (once for this model and driver)"]
    npu_operators.calls.clear()
    async with serving(config, tmp_path) as (http, _):
        health = await (await http.get("/health")).json()
        assert (health["model"]["device"], health["model"]["device_note"]) == ("npu", None)
        asked: dict[str, Any] = {"prompt": prompt(1, BLOCK + 5), "max_tokens": 4, "temperature": 0, "ignore_eos": True}
        answer = await (await http.post("/v1/completions", json={"model": config.model.name, **asked})).json()
        assert answer["usage"]["completion_tokens"] == 4
    assert "npu_fused_infer_attention_score" in npu_operators.calls
    assert sum(graph.replays for graph in npu.graphs) > 0


def test_passed_check_is_remembered_and_a_failed_one_is_not(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices = []
    for command in (NO_DRIVER, CHECK, NO_DRIVER):
        check_by(command, monkeypatch)
        devices.append(serving_config(settings, Path(settings.model), lambda _: None).device.kind)
    assert devices == ["cpu", "npu", "npu"]
