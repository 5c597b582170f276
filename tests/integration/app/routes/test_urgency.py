"""Priority and timeout on every generating route, and the responses to requests that time out."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from engine.api.outputs import FinishReason
from engine.api.urgency import Urgency
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer
from tests.integration.sse_events import all_events

Api = RunningServer[ReplayEngine]

CHAT: dict[str, Any] = {"model": "fake-1", "messages": [{"role": "user", "content": "hi"}]}
TEXT: dict[str, Any] = {"model": "fake-1", "prompt": "hi"}
ROUTES = [("/v1/chat/completions", CHAT), ("/v1/completions", TEXT)]
MESSAGES = ("/v1/messages", CHAT | {"max_tokens": 100})
OLLAMA = [("/api/chat", CHAT), ("/api/generate", TEXT)]


async def messages_url(http: aiohttp.ClientSession) -> str:
    response = await http.post("/api/conversations", json={})
    return f"/api/conversations/{(await response.json())['id']}/messages"


@pytest.mark.parametrize(("route", "body"), [*ROUTES, MESSAGES, *OLLAMA])
async def test_requests_set_priority_and_timeout(
    api: Api, http: aiohttp.ClientSession, route: str, body: dict[str, Any]
) -> None:
    assert (await http.post(route, json=body)).status == 200
    assert (await http.post(route, json=body | {"priority": -3, "timeout": 30})).status == 200
    assert [request.urgency for request in api.engine.requests] == [Urgency(0, None), Urgency(-3, 30.0)]


async def test_messages_and_retries_set_priority_and_timeout(api: Api, http: aiohttp.ClientSession) -> None:
    asked = await http.post(await messages_url(http), json={"content": "hi", "priority": 2, "timeout": 1.5})
    answer = (await all_events(asked))[-1].data["message"]
    await all_events(await http.post(f"/api/messages/{answer['id']}/retry", json={"priority": 1}))
    assert [request.urgency for request in api.engine.requests] == [Urgency(2, 1.5), Urgency(1, None)]


@pytest.mark.parametrize(
    ("field", "value"), [("priority", 1.5), ("priority", 1 << 40), ("timeout", 0), ("timeout", -1), ("timeout", 1e9)]
)
async def test_invalid_priority_or_timeout_is_refused_by_name(
    http: aiohttp.ClientSession, field: str, value: float
) -> None:
    for route, body in [*ROUTES, (await messages_url(http), {"content": "hi"})]:
        response = await http.post(route, json=body | {field: value})
        assert response.status == 400
        assert (await response.json())["error"]["param"] == field


async def ended(
    api: Api, http: aiohttp.ClientSession, route: str, body: dict[str, Any], reason: FinishReason, tokens: int
) -> aiohttp.ClientResponse:
    """Send a request, end its answer with `reason` after `tokens` tokens, and return the response."""
    api.engine.hold()
    before = len(api.engine.requests)
    response = asyncio.create_task(http.post(route, json=body))
    await api.engine.until_running(1)
    stream = api.engine.requests[before]
    api.engine.allow(tokens)
    await api.engine.until_produced(stream, tokens)
    api.engine.end(stream, reason, "it waited too long" if reason == "queue_timeout" else None)
    return await response


@pytest.mark.parametrize(("route", "body"), ROUTES)
async def test_timeout_during_an_answer_keeps_the_partial_text(
    api: Api, http: aiohttp.ClientSession, route: str, body: dict[str, Any]
) -> None:
    whole = await (await ended(api, http, route, body, "timeout", 2)).json()
    [choice] = whole["choices"]
    assert (choice["finish_reason"], choice["stop_reason"]) == ("length", "timeout")
    assert " w0 w1" in json.dumps(choice)
    streamed = await (await ended(api, http, route, body | {"stream": True}, "timeout", 2)).text()
    last, done = streamed.strip().split("\n\n")[-2:]
    assert done == "data: [DONE]"
    [choice] = json.loads(last.removeprefix("data: "))["choices"]
    assert (choice["finish_reason"], choice["stop_reason"]) == ("length", "timeout")


async def test_timeout_before_the_first_token_is_an_error(api: Api, http: aiohttp.ClientSession) -> None:
    response = await ended(api, http, *ROUTES[0], "timeout", 0)
    assert response.status == 408
    error = (await response.json())["error"]
    assert (error["param"], error["code"]) == ("timeout", "timeout")
    streamed = await (await ended(api, http, ROUTES[0][0], CHAT | {"stream": True}, "timeout", 0)).text()
    assert json.loads(streamed.strip().split("\n\n")[-1].removeprefix("data: "))["error"]["code"] == "timeout"


async def test_timeout_on_anthropic_route_ends_as_max_tokens(api: Api, http: aiohttp.ClientSession) -> None:
    whole = await (await ended(api, http, *MESSAGES, "timeout", 2)).json()
    assert (whole["content"][0]["text"], whole["stop_reason"]) == (" w0 w1", "max_tokens")
    late = await ended(api, http, *MESSAGES, "timeout", 0)
    assert (late.status, (await late.json())["error"]["type"]) == (408, "timeout_error")


async def test_queue_timeout_is_refused_with_retry_after(api: Api, http: aiohttp.ClientSession) -> None:
    response = await ended(api, http, *ROUTES[1], "queue_timeout", 0)
    assert response.status == 429
    assert response.headers["Retry-After"] == "7"
    error = (await response.json())["error"]
    assert (error["code"], error["message"]) == ("queue_timeout", "it waited too long")


@pytest.mark.parametrize(
    ("reason", "tokens", "status", "code"),
    [("timeout", 2, "incomplete", None), ("timeout", 0, "failed", "timeout"), ("queue_timeout", 0, "failed", None)],
)
async def test_run_that_times_out_keeps_its_partial_text(
    api: Api, http: aiohttp.ClientSession, reason: FinishReason, tokens: int, status: str, code: str | None
) -> None:
    response = await ended(api, http, await messages_url(http), {"content": "hi"}, reason, tokens)
    answer = (await all_events(response))[-1].data["message"]
    assert (answer["status"], answer["finish_reason"]) == (status, reason)
    assert answer["content"] == "".join(f" w{index}" for index in range(tokens))
    if code is not None:
        assert answer["error"]["code"] == code
