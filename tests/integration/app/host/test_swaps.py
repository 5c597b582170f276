"""Twenty swaps among three models of which one has a place, and the death of one model while another answers."""

import asyncio
import json
import os
import random
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest

from app.config.settings import Settings, load_settings
from app.host.model_builds import open_models
from app.host.models import ModelTable
from tests.conftest import default_cache_dir
from tests.integration.api_server import api_client, running_server
from tests.integration.forked_engines import forked_engines
from tests.tiny_models import make_tiny_model

pytestmark = [pytest.mark.asyncio, pytest.mark.many_processes]

NAMES: Final = ("ant", "bee", "cat")
SWAPS: Final = 20
BLOCK: Final = 64
SYSTEM: Final = "A system prompt of some length, so that a history has full blocks. " * 3


@dataclass(slots=True)
class Chat:
    """A chat of the page.

    models: names of the models that may answer in it.
    known: number of tokens whose KV each model has computed for it, by the name of the model.
    """

    models: tuple[str, ...]
    id: str = ""
    known: dict[str, int] = field(default_factory=dict)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return the settings of a server with three models of random weights and a disk tier for all."""
    for seed, name in enumerate(NAMES):
        make_tiny_model(tmp_path / "models" / name, hidden=128, heads=2, kv_heads=1, layers=2 + seed, seed=seed)
    return settings_of(tmp_path, "several", **{"models-dir": str(tmp_path / "models"), "models-max": "1"})


def settings_of(folder: Path, name: str, **flags: str) -> Settings:
    """Return settings with a state directory of this name."""
    common = {"redis-url": "off", "disk-kv-size": "64MiB", "kv-memory": "8MiB", "cpu-kv-memory": "8MiB"}
    place = {"state-dir": str(folder / name), "cache-dir": str(folder / "cache"), "packed-size": "0"}
    settings = load_settings(common | place | flags, environ={})
    settings.make_directories()
    kernels = settings.cache_dir / "kernels"
    if not kernels.exists():
        kernels.symlink_to(default_cache_dir() / "kernels")
    return settings


@asynccontextmanager
async def served(settings: Settings) -> AsyncIterator[tuple[ModelTable, aiohttp.ClientSession]]:
    """Serve the models of these settings."""
    with forked_engines():
        table = await asyncio.to_thread(open_models, settings, lambda _: None, least_seconds=0.0)
        await table.start(lambda _: None)
        async with (
            running_server(settings.state_dir, table.default.backend, models=table) as server,
            api_client(server.url) as http,
        ):
            yield table, http
        await table.stop(0.0)


async def new_chat(http: aiohttp.ClientSession) -> str:
    created = await (await http.post("/api/conversations", json={"system_prompt": SYSTEM})).json()
    return str(created["id"])


async def posted(http: aiohttp.ClientSession, chat: str, content: str, model: str) -> dict[str, Any]:
    """Post a message to a chat, and return the answer."""
    body = {"content": content, "model": model, "params": {"max_tokens": 8, "temperature": 0}}
    async with http.post(f"/api/conversations/{chat}/messages", json=body) as response:
        assert response.status == 200, await response.text()
        *_, done = (line for line in (await response.text()).splitlines() if line.startswith("data: "))
        answer: dict[str, Any] = json.loads(done.removeprefix("data: "))["message"]
        return answer


def swaps(chats: list[Chat]) -> list[tuple[int, str]]:
    """Return the turns: each names a chat and a model, which is never that of the turn before."""
    dice, turns = random.Random(5), list[tuple[int, str]]()
    while len(turns) <= SWAPS:
        number = dice.randrange(len(chats))
        model = dice.choice(chats[number].models)
        if not turns or model != turns[-1][1]:
            turns.append((number, model))
    return turns


async def test_twenty_swaps_compute_no_history_again(settings: Settings, tmp_path: Path) -> None:
    # Three chats stay with a model each, and two change theirs.
    chats = [*(Chat((name,)) for name in NAMES), Chat(NAMES), Chat(("ant", "cat"))]
    turns, texts = swaps(chats), list[str]()
    async with served(settings) as (_, http):
        for chat in chats:
            chat.id = await new_chat(http)
        for turn, (number, model) in enumerate(turns):
            chat = chats[number]
            answer = await posted(http, chat.id, f"Question {turn}?", model)
            usage, known = answer["usage"], chat.known.get(model, 0)
            # A process that ends takes the block that is not full with it.
            assert usage["prompt_tokens_details"]["cached_tokens"] >= known // BLOCK * BLOCK
            # The KV of an answer's last token is never computed.
            chat.known[model] = usage["prompt_tokens"] + usage["completion_tokens"] - 1
            texts.append(answer["content"])
        assert len(turns) == SWAPS + 1
    returned = [chat for chat in chats[3:] for count in chat.known.values() if count > 2 * BLOCK]
    assert len(returned) >= 3
    # Models that never leave, and find nothing computed, answer the same.
    alone = settings_of(
        tmp_path, "alone", **{"models-dir": str(tmp_path / "models"), "models-max": "3", "no-prefix-cache": "true"}
    )
    async with served(alone) as (_, http):
        ids = [await new_chat(http) for _ in chats]
        again = [
            (await posted(http, ids[number], f"Question {turn}?", model))["content"]
            for turn, (number, model) in enumerate(turns)
        ]
    assert again == texts


async def test_death_of_a_model_changes_no_answer_of_another(settings: Settings, tmp_path: Path) -> None:
    several = settings_of(
        tmp_path, "three", **{"models-dir": str(tmp_path / "models"), "models-max": "3", "disk-kv-size": "0"}
    )
    async with served(several) as (table, http):
        for model in table:
            await table.ready(model)
        expected = [await answered(http, name) for name in ("ant", "bee")]
        [bee_process] = [each.pid for each in engine_of(table, "bee").stats().replicas]
        others = asyncio.gather(*(answered(http, "bee") for _ in range(4)))
        dying = asyncio.create_task(answered(http, "ant"))
        async with asyncio.timeout(20):
            while not engine_of(table, "ant").num_answers or not engine_of(table, "bee").num_answers:  # noqa: ASYNC110
                await asyncio.sleep(0)
        [process] = [each.pid for each in engine_of(table, "ant").stats().replicas]
        assert process is not None
        os.kill(process, signal.SIGKILL)
        assert await others == [expected[1]] * 4
        assert await dying == expected[0]
        assert [each.pid for each in engine_of(table, "bee").stats().replicas] == [bee_process]


def engine_of(table: ModelTable, name: str) -> Any:
    model = table.find(name)
    assert model is not None
    assert model.engine is not None
    return model.engine


async def answered(http: aiohttp.ClientSession, model: str) -> str:
    """Return a long answer of a model."""
    body = {"model": model, "prompt": "Once", "max_tokens": 400, "temperature": 0, "ignore_eos": True}
    async with http.post("/v1/completions", json=body) as response:
        whole = await response.json()
        assert response.status == 200, whole
        return str(whole["choices"][0]["text"])
