"""Limits of the answer for which the window has no room: on every route they mean all of the room."""

from typing import Any

import aiohttp
import pytest

from engine.testing.replay_engine import WINDOW, ReplayEngine
from tests.integration.api_server import RunningServer

Api = RunningServer[ReplayEngine]

HI: Any = [{"role": "user", "content": "hi"}]
LARGE = 1 << 31
REQUESTS: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": HI, "max_completion_tokens": LARGE, "ignore_eos": True},
    "/v1/completions": {"prompt": "hi", "max_tokens": LARGE, "ignore_eos": True},
    "/v1/responses": {"input": "hi", "max_output_tokens": LARGE, "ignore_eos": True},
    "/v1/messages": {"messages": HI, "max_tokens": LARGE, "ignore_eos": True},
    "/api/chat": {"messages": HI, "options": {"num_predict": LARGE}, "stream": False},
}


@pytest.mark.parametrize("route", REQUESTS)
async def test_limit_beyond_the_window_fills_the_window(api: Api, http: aiohttp.ClientSession, route: str) -> None:
    response = await http.post(route, json={"model": "fake-1", **REQUESTS[route]})
    assert response.status == 200, await response.text()
    [request] = api.engine.requests
    assert request.params.max_tokens == WINDOW - len(request.prompt)


@pytest.mark.parametrize("stored", [True, False])
async def test_large_limit_drops_no_message_that_fits(api: Api, http: aiohttp.ClientSession, stored: bool) -> None:
    said = [{"role": "user", "content": "a" * (WINDOW // 4)}, *HI]
    body = {"model": "fake-1", "input": said, "max_output_tokens": LARGE, "truncation": "auto", "store": stored}
    assert (await http.post("/v1/responses", json=body)).status == 200
    assert len(api.engine.requests[0].prompt) > WINDOW // 4


async def test_limit_of_whole_window_keeps_the_prompt(api: Api, http: aiohttp.ClientSession) -> None:
    body = {"model": "fake-1", "prompt": "river", "max_tokens": LARGE, "truncate_prompt_tokens": -1}
    assert (await http.post("/v1/completions", json=body)).status == 200
    assert len(api.engine.requests[0].prompt) == len("river")
