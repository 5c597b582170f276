"""A server with two models, one of which has an adapter."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from app.config.settings import Settings, load_settings
from app.host.model_builds import open_models
from tests.conftest import default_cache_dir
from tests.integration.api_server import api_client, running_server
from tests.integration.forked_engines import forked_engines
from tests.tiny_adapters import make_adapter
from tests.tiny_models import make_tiny_model

pytestmark = [pytest.mark.asyncio, pytest.mark.many_processes]

PROMPT = "A prompt of some length, so that it has full blocks. " * 4


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return the settings of a server in which two models share one place."""
    for seed, name in enumerate(("ant", "bee")):
        make_tiny_model(tmp_path / name, hidden=128, heads=2, kv_heads=1, seed=seed)
    make_adapter(tmp_path / "adapters" / "poet", tmp_path / "bee", size=4.0)
    file = tmp_path / "ebb.toml"
    file.write_text(
        f'models-max = 1\n[models]\nant = "{tmp_path}/ant"\n'
        f'[models.bee]\nmodel = "{tmp_path}/bee"\nadapters-dir = "{tmp_path}/adapters"\n'
    )
    flags = {"redis-url": "off", "disk-kv-size": "64MiB", "kv-memory": "8MiB", "cpu-kv-memory": "8MiB"}
    place = {"state-dir": str(tmp_path / "state"), "cache-dir": str(tmp_path / "cache"), "packed-size": "0"}
    settings = load_settings(flags | place, config_file=str(file), environ={})
    settings.make_directories()
    (settings.cache_dir / "kernels").symlink_to(default_cache_dir() / "kernels")
    return settings


async def completed(http: aiohttp.ClientSession, model: str) -> tuple[str, int]:
    """Return the answer of a model or an adapter, and the number of tokens that it did not compute."""
    body = {"model": model, "prompt": PROMPT, "max_tokens": 8, "temperature": 0, "ignore_eos": True}
    async with http.post("/v1/completions", json=body) as response:
        whole: dict[str, Any] = await response.json()
        assert response.status == 200, whole
        assert whole["model"] == model
        return whole["choices"][0]["text"], whole["usage"]["prompt_tokens_details"]["cached_tokens"]


async def test_adapter_loads_its_model_and_keeps_its_kv(settings: Settings) -> None:
    with forked_engines():
        table = await asyncio.to_thread(open_models, settings, lambda _: None, least_seconds=0.0)
        await table.start(lambda _: None)
        server = running_server(settings.state_dir, table.default.backend, models=table)
        async with server as running, api_client(running.url) as http:
            # The names are known before the model was ever loaded.
            listed = (await (await http.get("/v1/models")).json())["data"]
            assert [(each["id"], each["parent"]) for each in listed] == [
                ("ant", None),
                ("bee", None),
                ("poet", "bee"),
            ]
            poet, cached = await completed(http, "poet")
            base, of_base = await completed(http, "bee")
            assert (cached, of_base) == (0, 0)
            assert poet != base
            await completed(http, "ant")
            assert [each.state for each in table] == ["loaded", "unloaded"]
            again, cached = await completed(http, "poet")
            assert again == poet
            assert cached >= 128
            refused = await http.post("/v1/completions", json={"model": "painter", "prompt": "Hi"})
            assert refused.status == 404
            assert "this server has 'ant', 'bee', 'poet'" in (await refused.json())["error"]["message"]
        await table.stop(0.0)
