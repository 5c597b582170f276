"""Adapters as model names on every API. A request for one is computed by it, and its answer names it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from app.host.model_aliases import ModelAliases
from engine.testing.replay_engine import MODEL, ReplayEngine
from models.adapters.adapter import Adapter
from tests.integration.api_server import RunningServer, api_client, running_server

POET = Adapter("poet", "a" * 64, True)
SOFT = Adapter("soft", "b" * 64, True, num_virtual=20)
SAID = [{"role": "user", "content": "hi"}]

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("/v1/chat/completions", {"messages": SAID}),
    ("/v1/chat/completions", {"messages": SAID, "n": 2}),
    ("/v1/completions", {"prompt": "hi"}),
    ("/v1/completions", {"prompt": ["hi", "there"]}),
    ("/v1/messages", {"messages": SAID, "max_tokens": 5}),
    ("/v1/responses", {"input": "hi"}),
    ("/v1/responses", {"input": "hi", "store": False}),
    ("/v1/embeddings", {"input": "hi"}),
    ("/api/chat", {"messages": SAID, "stream": False}),
    ("/api/generate", {"prompt": "hi", "stream": False}),
    ("/api/embed", {"input": "hi"}),
]
"""Path and body of each kind of request, without the model."""


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RunningServer[ReplayEngine]]:
    aliases = ModelAliases({"bard": "poet"})
    async with running_server(tmp_path, ReplayEngine(adapters=[POET]), aliases=aliases) as server:
        yield server


@pytest.fixture
async def http(server: RunningServer[ReplayEngine]) -> AsyncIterator[aiohttp.ClientSession]:
    async with api_client(server.url) as http:
        yield http


@pytest.mark.parametrize(("path", "body"), CALLS)
async def test_model_name_selects_the_adapter(
    server: RunningServer[ReplayEngine], http: aiohttp.ClientSession, path: str, body: dict[str, Any]
) -> None:
    for name, adapter in (("poet", "poet"), (MODEL, ""), ("bard", "poet")):
        before = len(server.engine.requests)
        response = await http.post(path, json={"model": name, **body})
        answer = await response.json()
        assert response.status == 200, answer
        begun = server.engine.requests[before:]
        assert begun
        assert {each.adapter for each in begun} == {adapter}
        # Ollama's API repeats the name that the client sent.
        assert answer["model"] == (name if path.startswith("/api") else adapter or MODEL)


@pytest.mark.parametrize("name", ["nobody", "Poet", "poet/"])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
async def test_unknown_name_is_refused_with_the_known_ones(http: aiohttp.ClientSession, path: str, name: str) -> None:
    response = await http.post(path, json={"model": name, "messages": SAID, "max_tokens": 5})
    error = (await response.json())["error"]
    assert response.status == 404
    assert error["message"] == f"The model {name!r} does not exist; this server has 'fake-1', 'poet'"


async def test_list_of_models_has_adapters_with_their_parent(http: aiohttp.ClientSession) -> None:
    listed = (await (await http.get("/v1/models")).json())["data"]
    assert [(each["id"], each["root"], each["parent"]) for each in listed] == [
        (MODEL, MODEL, None),
        ("poet", "poet", MODEL),
        ("bard", "poet", MODEL),
    ]
    one = await (await http.get("/v1/models/poet")).json()
    assert one == listed[1]


async def test_prompt_adapter_answers_and_gives_no_embeddings(tmp_path: Path) -> None:
    async with running_server(tmp_path, ReplayEngine(adapters=[SOFT])) as server, api_client(server.url) as http:
        answered = await http.post("/v1/chat/completions", json={"model": "soft", "messages": SAID})
        assert (await answered.json())["model"] == "soft"
        refused = await http.post("/v1/embeddings", json={"model": "soft", "input": "hi"})
        error = (await refused.json())["error"]
        assert refused.status == 400
        assert error["param"] == "model"
        assert error["message"].startswith("'soft' is a prompt adapter, which gives no embeddings")


async def test_stored_response_names_its_adapter(http: aiohttp.ClientSession) -> None:
    for name in ("poet", MODEL):
        response = await (await http.post("/v1/responses", json={"model": name, "input": "hi"})).json()
        assert (await (await http.get(f"/v1/responses/{response['id']}")).json())["model"] == name
