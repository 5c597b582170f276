"""A start on a machine whose GPU fails its check: the CPU computes, and `/health` has the reason."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from app.config.settings import Settings, load_settings
from app.host.startup import engine_builder, serving_config
from models.errors import UnsupportedModelError
from tests.hub_server import folder_contents, hub_of_this_process, serve_hub
from tests.integration.real_server import serving
from tests.sizes import MANY_PROCESSES
from tests.tiny_models import make_tiny_model

REASON = "cuda failed its check: this machine has no usable cuda device (found: none)"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Load the settings of a server on a machine that seems to have a GPU."""
    monkeypatch.setattr("app.config.settings.choose_device", lambda wanted: "cuda" if wanted == "auto" else wanted)
    model = make_tiny_model(tmp_path / "tiny")
    folders = {"state-dir": str(tmp_path / "state"), "cache-dir": str(tmp_path / "cache")}
    return load_settings(folders | {"model": str(model), "no-prefix-cache": "true"}, environ={})


@MANY_PROCESSES
async def test_failed_check_leaves_the_cpu_and_its_reason_in_health(settings: Settings, tmp_path: Path) -> None:
    config = serving_config(settings, Path(settings.model), lambda _: None)
    assert (config.device.kind, config.cache.block_size) == ("cpu", 64)
    async with serving(config, tmp_path) as (http, _):
        health = await (await http.get("/health")).json()
    note = f"{REASON}. The CPU computes instead; --device cuda skips the check."
    assert (health["model"]["device"], health["model"]["device_note"]) == ("cpu", note)


def test_divided_model_is_served_unchecked_by_the_accelerator(settings: Settings) -> None:
    said: list[str] = []
    config = serving_config(replace(settings, tensor_parallel_size=2), Path(settings.model), said.append)
    assert (config.device.kind, config.device.note) == ("cuda", "")
    assert said == ["not checking cuda, because several devices divide the model"]


def test_model_at_the_hub_is_judged_for_the_chosen_device(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = folder_contents(Path(settings.model))
    quantized = {"quantization_config": {"quant_method": "awq"}}
    files["config.json"] = json.dumps(json.loads(files["config.json"]) | quantized).encode()
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    with serve_hub({"org/tiny": files}) as hub, hub_of_this_process(hub.url):
        with pytest.raises(UnsupportedModelError, match="on CUDA only, not on cpu"):
            engine_builder(replace(settings, model="org/tiny", device="cpu"))(lambda _: None)
        assert hub.requests_of("model.safetensors") == []


def test_named_device_is_not_checked(settings: Settings) -> None:
    named = replace(settings, device="cuda")
    config = serving_config(named, Path(settings.model), lambda _: None)
    assert (config.device.kind, config.device.note) == ("cuda", "")
