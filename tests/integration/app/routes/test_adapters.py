"""Loading and unloading of adapters by administrators, as vLLM's API has it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from app.config.settings import Settings
from app.config.unloaded_adapters import UnloadedAdapters
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.loop.async_llm import AsyncLLMEngine
from engine.testing.replay_engine import ReplayEngine
from engine.wiring.build import build_engine
from tests.conftest import default_cache_dir
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.engine_rig import SECRET
from tests.tiny_adapters import make_adapter
from tests.tiny_models import make_tiny_model

SAID = [{"role": "user", "content": "hi"}]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    model = make_tiny_model(tmp_path / "model")
    make_adapter(tmp_path / "adapters" / "poet", model, seed=1)
    return model


@pytest.fixture
async def server(model: Path, tmp_path: Path) -> AsyncIterator[RunningServer[AsyncLLMEngine]]:
    config = EngineConfig(
        model=ModelConfig(path=model, name="base", adapters_dir=tmp_path / "adapters"),
        cache=CacheConfig(tiers=None, secret=SECRET, kv_memory=8 << 20),
        device=DeviceConfig(cache_dir=default_cache_dir()),
    )
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    async with running_server(tmp_path, engine) as running:
        running.services.model.host.unloaded_adapters = UnloadedAdapters(tmp_path / "unloaded_adapters.json")
        yield running


@pytest.fixture
async def http(server: RunningServer[AsyncLLMEngine]) -> AsyncIterator[aiohttp.ClientSession]:
    async with api_client(server.url) as http:
        yield http


async def names(http: aiohttp.ClientSession) -> list[str]:
    return [each["id"] for each in (await (await http.get("/v1/models")).json())["data"]]


async def test_list_follows_load_and_unload(http: aiohttp.ClientSession, model: Path, tmp_path: Path) -> None:
    make_adapter(tmp_path / "adapters" / "coder", model, seed=2)
    loaded = await http.post("/v1/load_lora_adapter", json={"lora_name": "coder", "lora_path": "coder"})
    assert (loaded.status, await loaded.text()) == (200, "Success: LoRA adapter 'coder' added successfully.")
    assert await names(http) == ["base", "poet", "coder"]
    body = {"model": "coder", "messages": SAID, "max_tokens": 3}
    assert (await (await http.post("/v1/chat/completions", json=body)).json())["model"] == "coder"
    unloaded = await http.post("/v1/unload_lora_adapter", json={"lora_name": "coder"})
    assert (unloaded.status, await unloaded.text()) == (200, "Success: LoRA adapter 'coder' removed successfully.")
    assert await names(http) == ["base", "poet"]
    refused = await http.post("/v1/chat/completions", json=body)
    assert (refused.status, (await refused.json())["error"]["code"]) == (404, "model_not_found")


async def test_restart_leaves_out_what_was_unloaded(http: aiohttp.ClientSession, model: Path, tmp_path: Path) -> None:
    make_adapter(tmp_path / "adapters" / "coder", model, seed=2)
    settings = Settings(
        state_dir=tmp_path, adapters_dir=tmp_path / "adapters", cache_dir=tmp_path, secret_file=tmp_path / "secret"
    )

    def at_start() -> tuple[str, ...] | None:
        return settings.engine_config(model_path=model, model_name="base", secret=SECRET).model.adapters

    assert at_start() is None
    assert (await http.post("/v1/unload_lora_adapter", json={"lora_name": "poet"})).status == 200
    assert at_start() == ("coder",)
    assert (await http.post("/v1/load_lora_adapter", json={"lora_name": "poet"})).status == 200
    assert at_start() is None


@pytest.mark.parametrize(
    ("fields", "status", "param"),
    [
        ({"lora_name": "poet"}, 400, "lora_name"),
        ({"lora_name": "missing"}, 404, "lora_name"),
        ({"lora_name": "../model"}, 404, "lora_name"),
        ({"lora_name": "coder", "lora_path": "../coder"}, 400, "lora_path"),
        ({"lora_name": "coder", "lora_path": "/etc"}, 400, "lora_path"),
        ({"lora_name": "coder", "lora_path": "poet"}, 400, "lora_path"),
        ({"lora_path": "poet"}, 400, "lora_name"),
        ({"lora_name": ""}, 400, "lora_name"),
    ],
)
async def test_refused_load_names_the_field(
    http: aiohttp.ClientSession, fields: dict[str, str], status: int, param: str
) -> None:
    refused = await http.post("/v1/load_lora_adapter", json=fields)
    assert refused.status == status
    assert (await refused.json())["error"]["param"] == param
    assert await names(http) == ["base", "poet"]


async def test_record_that_cannot_be_written_keeps_the_adapter(
    server: RunningServer[AsyncLLMEngine], http: aiohttp.ClientSession, tmp_path: Path
) -> None:
    server.services.model.host.unloaded_adapters = UnloadedAdapters(tmp_path / "missing" / "record.json")
    refused = await http.post("/v1/unload_lora_adapter", json={"lora_name": "poet"})
    assert refused.status == 503
    assert "a restart would undo the change" in (await refused.json())["error"]["message"]
    assert await names(http) == ["base", "poet"]


async def test_server_without_a_folder_says_what_to_do(tmp_path: Path) -> None:
    async with running_server(tmp_path, ReplayEngine()) as server, api_client(server.url) as http:
        assert (await http.post("/v1/load_lora_adapter", json={"lora_name": "poet"})).status == 404
        assert (await http.post("/v1/unload_lora_adapter", json={"lora_name": "poet"})).status == 404
