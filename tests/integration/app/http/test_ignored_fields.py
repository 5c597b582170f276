"""Unknown fields on the compatible routes."""

import logging
from pathlib import Path

import aiohttp
import pytest

from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import api_client, running_server

CHAT = {"model": "fake-1", "messages": [{"role": "user", "content": "hi", "mood": 1}], "colour": 1}


async def test_response_names_ignored_fields(http: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture) -> None:
    logger = "app.http.request_body"
    caplog.set_level(logging.DEBUG, logger)
    for stream in (False, True):
        response = await http.post("/v1/chat/completions", json=CHAT | {"stream": stream})
        assert response.status == 200
        assert response.headers["X-Ebb-Ignored"] == "colour, ChatMessage.mood"
    said = [record.__dict__["facts"] for record in caplog.records if record.name == logger]
    assert said == [{"fields": "colour, ChatMessage.mood"}] * 2


async def test_budget_of_model_that_does_not_think_is_named(http: aiohttp.ClientSession) -> None:
    said, budget = {"model": "fake-1", "messages": [{"role": "user", "content": "hi"}]}, {"budget_tokens": 1024}
    for path, fields, name in (
        ("/v1/chat/completions", {"thinking_token_budget": 5}, "thinking_token_budget"),
        ("/v1/chat/completions", {"n": 2, "thinking_budget_tokens": 5}, "thinking_budget_tokens"),
        ("/v1/messages", {"max_tokens": 5, "thinking": {"type": "enabled", **budget}}, "thinking.budget_tokens"),
    ):
        for stream in (False, True):
            response = await http.post(path, json={**said, **fields, "stream": stream})
            assert (response.status, response.headers["X-Ebb-Ignored"]) == (200, name)


async def test_refusal_names_ignored_fields_too(http: aiohttp.ClientSession) -> None:
    response = await http.post("/v1/chat/completions", json=CHAT | {"top_k": "many"})
    assert (response.status, response.headers["X-Ebb-Ignored"]) == (400, "colour, ChatMessage.mood")


async def test_request_without_unknown_fields_has_no_header(http: aiohttp.ClientSession) -> None:
    response = await http.post("/v1/completions", json={"model": "fake-1", "prompt": "hi", "user": "me"})
    assert response.status == 200
    assert "X-Ebb-Ignored" not in response.headers


async def test_own_routes_refuse_unknown_fields(http: aiohttp.ClientSession) -> None:
    response = await http.post("/api/conversations", json={"titel": "a"})
    assert (response.status, (await response.json())["error"]["param"]) == (400, "titel")


async def test_strict_server_refuses_unknown_fields(tmp_path: Path) -> None:
    async with (
        running_server(tmp_path, ReplayEngine(), strict_fields=True) as server,
        api_client(server.url) as http,
    ):
        response = await http.post("/v1/chat/completions", json=CHAT)
        assert (response.status, (await response.json())["error"]["param"]) == (400, "messages[0].mood")
        assert "X-Ebb-Ignored" not in response.headers
