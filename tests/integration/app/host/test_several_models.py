"""A server with three models of random weights: swaps, their history, and the APIs that show and change their state."""

import asyncio
import json
import os
import random
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from app.config.settings import Settings, load_settings
from app.host.model_builds import open_models
from app.host.models import ModelTable
from app.host.served_model import ServedModel
from tests.conftest import default_cache_dir
from tests.integration.api_server import api_client, running_server
from tests.integration.forked_engines import forked_engines
from tests.tiny_models import make_tiny_model

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.many_processes,
]

NAMES = ("ant", "bee", "cat")
SYSTEM = "A system prompt of some length, so that a history has full blocks. " * 3


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Return the settings of a server with three models, of which one has a place, and a disk tier for all."""
    folder = tmp_path_factory.mktemp("several")
    for seed, name in enumerate(NAMES):
        make_tiny_model(folder / "models" / name, hidden=128, heads=2, kv_heads=1, layers=2 + seed, seed=seed)
    flags = {
        "models-dir": folder / "models",
        "models-max": 1,
        "state-dir": folder / "state",
        "cache-dir": folder / "cache",
        "redis-url": "off",
        "disk-kv-size": "64MiB",
        "kv-memory": "8MiB",
        "cpu-kv-memory": "8MiB",
        "packed-size": "0",
    }
    settings = load_settings({name: str(value) for name, value in flags.items()}, environ={})
    settings.make_directories()
    (settings.cache_dir / "kernels").symlink_to(default_cache_dir() / "kernels")
    return settings


@asynccontextmanager
async def table_of(settings: Settings) -> AsyncIterator[ModelTable]:
    """Open the models, with the default one in memory."""
    with forked_engines():
        table = await asyncio.to_thread(open_models, settings, lambda _: None, least_seconds=0.0)
        await table.start(lambda _: None)
        try:
            yield table
        finally:
            await table.stop(0.0)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def table(settings: Settings) -> AsyncIterator[ModelTable]:
    """Open the models of the server."""
    async with table_of(settings) as table:
        yield table


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def http(table: ModelTable, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[aiohttp.ClientSession]:
    """Serve the models."""
    folder = tmp_path_factory.mktemp("server")
    async with running_server(folder, table.default.backend, models=table) as server, api_client(server.url) as client:
        yield client


Chat = list[dict[str, str]]


async def asked(http: aiohttp.ClientSession, model: str, chat: Chat, **fields: Any) -> dict[str, Any]:
    """Send a chat, and return the response."""
    body = {"model": model, "messages": chat, "max_tokens": 8, "temperature": 0, **fields}
    async with http.post("/v1/chat/completions", json=body) as response:
        whole: dict[str, Any] = await response.json()
        assert response.status == 200, whole
        return whole


def text_of(response: dict[str, Any]) -> str:
    text: str = response["choices"][0]["message"]["content"]
    return text


async def states(http: aiohttp.ClientSession) -> dict[str, str]:
    listed = await (await http.get("/v1/models")).json()
    return {each["id"]: each["status"]["state"] for each in listed["data"]}


def find(table: ModelTable, name: str) -> ServedModel:
    model = table.find(name)
    assert model is not None
    return model


async def until_state(table: ModelTable, name: str, state: str) -> None:
    model = find(table, name)
    async with asyncio.timeout(20):
        while model.state != state:
            await model.next_change()


async def test_swaps_recompute_no_history_and_change_no_answer(
    http: aiohttp.ClientSession, settings: Settings, tmp_path: Path
) -> None:
    chats: dict[str, Chat] = {name: [{"role": "system", "content": SYSTEM + name}] for name in NAMES}
    known = dict.fromkeys(NAMES, 0)
    # Each model is asked twice, and leaves memory in between.
    order = random.Random(5).sample(NAMES, 3)
    for turn, name in enumerate([*order, *order]):
        chats[name].append({"role": "user", "content": f"Question {turn}?"})
        response = await asked(http, name, chats[name])
        usage = response["usage"]
        assert usage["prompt_tokens_details"]["cached_tokens"] >= known[name]
        # The KV of an answer's last token is never computed. A process forgets the block that is not full.
        known[name] = (usage["prompt_tokens"] + usage["completion_tokens"] - 1) // 64 * 64
        chats[name].append({"role": "assistant", "content": text_of(response)})
    assert all(count >= 128 for count in known.values())
    alone = _alone(settings, tmp_path)
    async with (
        table_of(alone) as table,
        running_server(tmp_path, table.default.backend, models=table) as server,
        api_client(server.url) as other,
    ):
        for name, chat in chats.items():
            ends = [index for index, each in enumerate(chat) if each["role"] == "assistant"]
            answers = [text_of(await asked(other, name, chat[:end])) for end in ends]
            assert answers == [chat[end]["content"] for end in ends]


def _alone(settings: Settings, folder: Path) -> Settings:
    """Return the settings of a server whose models leave no memory, without the KV of the other server."""
    state = folder / "state"
    alone = replace(settings, models_max=3, state_dir=state, secret_file=state / "secret", no_prefix_cache=True)
    alone.make_directories()
    return alone


async def test_stream_begins_with_comments_while_its_model_is_loaded(
    http: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.routes.model_wait.QUICK_SECONDS", 0.0)
    await asked(http, "ant", [{"role": "user", "content": "Hi"}])
    body = {"model": "bee", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 3, "stream": True}
    async with http.post("/v1/chat/completions", json=body) as response:
        lines = (await response.text()).splitlines()
    assert lines[0].startswith(": loading bee: ")
    data = [line for line in lines if line.startswith("data: ")]
    assert '"role":"assistant"' in data[0]
    assert data[-1] == "data: [DONE]"
    messages = {"model": "ant", "max_tokens": 3, "stream": True, "messages": body["messages"]}
    async with http.post("/v1/messages", json=messages) as response:
        events = [line.removeprefix("event: ") for line in (await response.text()).splitlines() if "event: " in line]
    assert events[0] == "ping"
    assert events[-1] == "message_stop"
    assert "message_start" in events


async def test_unknown_model_is_refused_with_the_names(http: aiohttp.ClientSession) -> None:
    async with http.post("/v1/completions", json={"model": "dog", "prompt": "Hi"}) as response:
        assert response.status == 404
        assert "this server has 'ant', 'bee', 'cat'" in (await response.json())["error"]["message"]


async def test_ollama_loads_shows_and_unloads_models(http: aiohttp.ClientSession, table: ModelTable) -> None:
    loaded = await (await http.post("/api/generate", json={"model": "cat", "stream": False})).json()
    assert (loaded["done_reason"], (await states(http))["cat"]) == ("load", "loaded")
    [shown] = (await (await http.get("/api/ps")).json())["models"]
    assert shown["name"] == "cat:latest"
    assert shown["expires_at"].startswith("9999")
    tags = (await (await http.get("/api/tags")).json())["models"]
    shown_states = {each["name"]: each["status"]["state"] for each in tags}
    assert shown_states == {"ant:latest": "unloaded", "bee:latest": "unloaded", "cat:latest": "loaded"}
    body = {"model": "cat", "prompt": "Hi", "stream": False, "keep_alive": "1h", "options": {"num_predict": 2}}
    assert (await http.post("/api/generate", json=body)).status == 200
    [shown] = (await (await http.get("/api/ps")).json())["models"]
    assert not shown["expires_at"].startswith("9999")
    unloaded = await (await http.post("/api/chat", json={"model": "cat", "keep_alive": 0, "stream": False})).json()
    assert unloaded["done_reason"] == "unload"
    await until_state(table, "cat", "unloaded")
    assert (await (await http.get("/api/ps")).json())["models"] == []
    refused = await http.post("/api/generate", json={"model": "cat", "keep_alive": "soon"})
    assert refused.status == 400
    assert "keep_alive" in (await refused.json())["error"]


async def test_administrator_loads_and_unloads(http: aiohttp.ClientSession, table: ModelTable) -> None:
    assert await (await http.post("/models/load", json={"model": "bee"})).json() == {"success": True}
    await until_state(table, "bee", "loaded")
    assert (await (await http.get("/v1/models/bee")).json())["status"]["value"] == "loaded"
    assert await (await http.post("/models/unload", json={"model": "bee"})).json() == {"success": True}
    await until_state(table, "bee", "unloaded")


async def test_killed_process_ends_no_answer_and_comes_back(http: aiohttp.ClientSession, table: ModelTable) -> None:
    expected = text_of(await asked(http, "ant", [{"role": "user", "content": "Hi"}], max_tokens=200))
    await table.ready(table.default)
    answer = asyncio.create_task(asked(http, "ant", [{"role": "user", "content": "Hi"}], max_tokens=200))
    async with asyncio.timeout(20):
        while not (table.default.engine is not None and table.default.engine.num_answers):  # noqa: ASYNC110
            await asyncio.sleep(0)
    [replica] = table.default.backend.stats().replicas
    assert replica.pid is not None
    os.kill(replica.pid, signal.SIGKILL)
    assert text_of(await answer) == expected
    assert (await states(http))["ant"] == "loaded"


async def posted(http: aiohttp.ClientSession, conversation: str, content: str, **fields: Any) -> dict[str, Any]:
    """Post a message to a chat of the page, and return the answer."""
    body = {"content": content, "params": {"max_tokens": 8}, **fields}
    async with http.post(f"/api/conversations/{conversation}/messages", json=body) as response:
        assert response.status == 200, await response.text()
        *_, done = (line for line in (await response.text()).splitlines() if line.startswith("data: "))
        answer: dict[str, Any] = json.loads(done.removeprefix("data: "))["message"]
        return answer


async def test_chat_that_returns_to_a_model_is_warm(http: aiohttp.ClientSession) -> None:
    chat = (await (await http.post("/api/conversations", json={"system_prompt": SYSTEM})).json())["id"]
    order, known = ["ant", "bee", "ant", "cat", "bee", "ant"], dict.fromkeys(NAMES, 0)
    for turn, name in enumerate(order):
        answer = await posted(http, chat, f"Question {turn}?", model=name)
        assert answer["model"] == name
        usage = answer["usage"]
        assert usage["prompt_tokens_details"]["cached_tokens"] >= known[name]
        # The KV of an answer's last token is never computed. A process forgets the block that is not full.
        known[name] = (usage["prompt_tokens"] + usage["completion_tokens"] - 1) // 64 * 64
    assert all(count >= 128 for count in known.values())
    # A message that names no model continues with the last one, and another answer with that of the answer.
    assert (await posted(http, chat, "And now?"))["model"] == "ant"
    stored = await (await http.get(f"/api/conversations/{chat}")).json()
    assert [each["model"] for each in stored["messages"]][1::2] == [*order, "ant"]
    async with http.post(f"/api/messages/{stored['messages'][3]['id']}/retry", json={}) as response:
        assert '"model":"bee"' in (await response.text()).replace(" ", "")


async def test_models_are_listed_with_the_cost_of_a_chat(http: aiohttp.ClientSession, table: ModelTable) -> None:
    for name in NAMES:
        await table.ready(find(table, name))
    chat = (await (await http.post("/api/conversations", json={"system_prompt": SYSTEM})).json())["id"]
    await posted(http, chat, "Hi", model="bee")
    listed = (await (await http.get("/api/models", params={"conversation_id": chat})).json())["data"]
    by_name = {each["name"]: each for each in listed}
    assert [(each["name"], each["default"]) for each in listed] == [("ant", True), ("bee", False), ("cat", False)]
    assert (by_name["bee"]["state"], by_name["ant"]["state"]) == ("loaded", "unloaded")
    assert by_name["bee"]["memory"] > 0
    # The other models have not read the chat.
    assert by_name["bee"]["computed"] < 32 < 128 < by_name["ant"]["computed"] == by_name["ant"]["tokens"]
    missing = await http.get("/api/models", params={"conversation_id": "conv_none"})
    assert missing.status == 404


async def test_load_is_streamed_to_the_page(http: aiohttp.ClientSession, table: ModelTable) -> None:
    await table.ready(table.default)
    async with http.post("/api/models/load", json={"model": "cat"}) as response:
        lines = (await response.text()).splitlines()
    kinds = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    assert kinds[0] == "loading"
    assert kinds[-1] == "loaded"
    assert (await states(http))["cat"] == "loaded"


async def test_response_of_any_model_is_continued(http: aiohttp.ClientSession) -> None:
    fields = {"instructions": SYSTEM, "max_output_tokens": 8}
    first = await (await http.post("/v1/responses", json={"model": "bee", "input": "Hi", **fields})).json()
    assert (first["model"], first["store"]) == ("bee", True)
    body = {"model": "bee", "input": "And?", "previous_response_id": first["id"], **fields}
    second = await (await http.post("/v1/responses", json=body)).json()
    known = first["usage"]["total_tokens"] - 1
    assert second["usage"]["input_tokens_details"]["cached_tokens"] >= known // 64 * 64 > 0
    # Another model reads the conversation, and the way back is warm.
    body = {"model": "cat", "input": "And?", "previous_response_id": second["id"], **fields}
    third = await (await http.post("/v1/responses", json=body)).json()
    body = {"model": "bee", "input": "And?", "previous_response_id": third["id"], **fields}
    fourth = await (await http.post("/v1/responses", json=body)).json()
    known = second["usage"]["total_tokens"] - 1
    assert fourth["usage"]["input_tokens_details"]["cached_tokens"] >= known // 64 * 64
