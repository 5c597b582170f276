"""Priority and timeout on every route that generates, and what clients are told when time is over."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from engine.outputs import FinishReason
from engine.urgency import Urgency
from tests.integration.api_server import RunningServer
from tests.integration.sse_events import all_events
from tests.unit.fake_engine import FakeEngine

Api = RunningServer[FakeEngine]

CHAT: dict[str, Any] = {"model": "fake-1", "messages": [{"role": "user", "content": "hi"}]}
TEXT: dict[str, Any] = {"model": "fake-1", "prompt": "hi"}
ROUTES = [("/v1/chat/completions", CHAT), ("/v1/completions", TEXT)]
MESSAGES = ("/v1/messages", CHAT | {"max_tokens": 100})


async def messages_url(http: aiohttp.ClientSession) -> str:
    response = await http.post("/api/conversations", json={})
    return f"/api/conversations/{(await response.json())['id']}/messages"


@pytest.mark.parametrize(("route", "body"), [*ROUTES, MESSAGES])
async def test_requests_may_say_how_urgent_they_are(
    api: Api, http: aiohttp.ClientSession, route: str, body: dict[str, Any]
) -> None:
    assert (await http.post(route, json=body)).status == 200
    assert (await http.post(route, json=body | {"priority": -3, "timeout": 30})).status == 200
    assert [request.urgency for request in api.engine.requests] == [Urgency(0, None), Urgency(-3, 30.0)]


async def test_questions_and_retries_may_say_how_urgent_they_are(api: Api, http: aiohttp.ClientSession) -> None:
    asked = await http.post(await messages_url(http), json={"content": "hi", "priority": 2, "timeout": 1.5})
    answer = (await all_events(asked))[-1].data["message"]
    await all_events(await http.post(f"/api/messages/{answer['id']}/retry", json={"priority": 1}))
    assert [request.urgency for request in api.engine.requests] == [Urgency(2, 1.5), Urgency(1, None)]


@pytest.mark.parametrize(
    ("field", "value"), [("priority", 1.5), ("priority", 1 << 40), ("timeout", 0), ("timeout", -1), ("timeout", 1e9)]
)
async def test_an_urgency_that_makes_no_sense_is_refused_by_name(
    http: aiohttp.ClientSession, field: str, value: float
) -> None:
    for route, body in [*ROUTES, (await messages_url(http), {"content": "hi"})]:
        response = await http.post(route, json=body | {field: value})
        assert response.status == 400
        assert (await response.json())["error"]["param"] == field


async def ended(
    api: Api, http: aiohttp.ClientSession, route: str, body: dict[str, Any], reason: FinishReason, tokens: int
) -> aiohttp.ClientResponse:
    """The response to a request that ends with `reason` after so many tokens."""
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
async def test_an_answer_that_had_begun_when_its_time_was_over_is_kept(
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


async def test_time_that_is_over_before_the_first_token_is_an_error_that_names_the_field(
    api: Api, http: aiohttp.ClientSession
) -> None:
    response = await ended(api, http, *ROUTES[0], "timeout", 0)
    assert response.status == 408
    error = (await response.json())["error"]
    assert (error["param"], error["code"]) == ("timeout", "timeout")
    streamed = await (await ended(api, http, ROUTES[0][0], CHAT | {"stream": True}, "timeout", 0)).text()
    assert json.loads(streamed.strip().split("\n\n")[-1].removeprefix("data: "))["error"]["code"] == "timeout"


async def test_an_anthropic_answer_that_was_cut_by_its_time_ends_like_one_cut_by_its_length(
    api: Api, http: aiohttp.ClientSession
) -> None:
    whole = await (await ended(api, http, *MESSAGES, "timeout", 2)).json()
    assert (whole["content"][0]["text"], whole["stop_reason"]) == (" w0 w1", "max_tokens")
    late = await ended(api, http, *MESSAGES, "timeout", 0)
    assert (late.status, (await late.json())["error"]["type"]) == (408, "timeout_error")


async def test_who_had_no_turn_in_time_is_told_when_to_come_back(api: Api, http: aiohttp.ClientSession) -> None:
    response = await ended(api, http, *ROUTES[1], "queue_timeout", 0)
    assert response.status == 429
    assert response.headers["Retry-After"] == "7"
    error = (await response.json())["error"]
    assert (error["code"], error["message"]) == ("queue_timeout", "it waited too long")


@pytest.mark.parametrize(
    ("reason", "tokens", "status", "code"),
    [("timeout", 2, "incomplete", None), ("timeout", 0, "failed", "timeout"), ("queue_timeout", 0, "failed", None)],
)
async def test_a_run_whose_time_was_over_keeps_what_it_has(
    api: Api, http: aiohttp.ClientSession, reason: FinishReason, tokens: int, status: str, code: str | None
) -> None:
    response = await ended(api, http, await messages_url(http), {"content": "hi"}, reason, tokens)
    answer = (await all_events(response))[-1].data["message"]
    assert (answer["status"], answer["finish_reason"]) == (status, reason)
    assert answer["content"] == "".join(f" w{index}" for index in range(tokens))
    if code is not None:
        assert answer["error"]["code"] == code
