"""Anthropic's routes on the wire: events, errors and headers, compared byte for byte where clients read them."""

import asyncio
import io
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from app.domain.bounds import MAX_BODY_BYTES
from engine.testing.byte_tokenizer import text_of
from engine.testing.replay_engine import FAILING, WINDOW, ReplayEngine
from engine.testing.script import ANSWER_WORDS
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.sse_events import Event, all_events, events

Api = RunningServer[ReplayEngine]

PROMPT: dict[str, Any] = {"model": "fake-1", "messages": [{"role": "user", "content": "hi"}]}
BODY: dict[str, Any] = PROMPT | {"max_tokens": 100}
VERSION = {"anthropic-version": "2023-06-01", "x-api-key": "none"}


async def post(http: aiohttp.ClientSession, **fields: Any) -> aiohttp.ClientResponse:
    return await http.post("/v1/messages", json=BODY | fields, headers=VERSION)


async def error_of(response: aiohttp.ClientResponse) -> tuple[str, str]:
    """Return type and message of an error in Anthropic's shape. Header and body must carry the same request id."""
    body = await response.json()
    assert set(body) == {"type", "error", "request_id"}
    assert body["type"] == "error"
    assert response.headers["request-id"] == body["request_id"] == response.headers["X-Request-Id"]
    assert set(body["error"]) == {"type", "message", "details"}
    assert body["error"]["details"].keys() == {"error_code"}
    return body["error"]["type"], body["error"]["message"]


async def test_stream_has_anthropics_events_in_order(http: aiohttp.ClientSession) -> None:
    response = await post(http, stream=True, max_tokens=2)
    assert response.headers["Content-Type"].startswith("text/event-stream")
    assert response.headers["request-id"] == response.headers["X-Request-Id"]
    received = await all_events(response)
    assert all(event.kind == event.data["type"] for event in received)
    start, block, ping, first, second, stop, delta, end = [event.data for event in received]
    message = start["message"]
    assert message.pop("id").startswith("msg_")
    prompt_tokens = message["usage"].pop("input_tokens")
    assert message == {
        "type": "message",
        "role": "assistant",
        "model": "fake-1",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0},
    }
    assert start["type"] == "message_start"
    assert block == {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    assert ping == {"type": "ping"}
    assert first == {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": " w0"}}
    assert second["delta"]["text"] == " w1"
    assert stop == {"type": "content_block_stop", "index": 0}
    assert delta["type"] == "message_delta"
    assert delta["delta"] == {"stop_reason": "max_tokens", "stop_sequence": None}
    assert (delta["usage"]["input_tokens"], delta["usage"]["output_tokens"]) == (prompt_tokens, 2)
    assert end == {"type": "message_stop"}


async def test_each_engine_step_is_sent_as_one_event_at_once(api: Api, http: aiohttp.ClientSession) -> None:
    api.engine.hold()
    asking = asyncio.create_task(post(http, stream=True))
    await api.engine.until_running(1)
    api.engine.allow(1)
    stream = events(await asking)
    async with asyncio.timeout(20):
        assert [(await anext(stream)).kind for _ in range(3)] == ["message_start", "content_block_start", "ping"]
        for step in range(3):
            assert (await anext(stream)).data["delta"]["text"] == f" w{step}"
            api.engine.allow(1)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("fields", "reason", "sequence"),
    [
        ({}, "end_turn", None),
        ({"max_tokens": 3}, "max_tokens", None),
        ({"stop_sequences": ["nothing", "w3"]}, "stop_sequence", "w3"),
        ({"max_tokens": 2 * WINDOW, "ignore_eos": True}, "model_context_window_exceeded", None),
    ],
    ids=["end", "max_tokens", "sequence", "window"],
)
async def test_answer_reports_its_stop_reason(
    http: aiohttp.ClientSession, fields: dict[str, Any], reason: str, sequence: str | None, stream: bool
) -> None:
    response = await post(http, stream=stream, **fields)
    ended = (await all_events(response))[-2].data["delta"] if stream else await response.json()
    assert (ended["stop_reason"], ended["stop_sequence"]) == (reason, sequence)


async def test_tokens_from_a_tier_count_as_cache_reads_not_input(
    http: aiohttp.ClientSession,
) -> None:
    new, again = [(await (await post(http)).json())["usage"] for _ in range(2)]
    assert new["kv"]["computed"] == new["input_tokens"] > 0
    assert (new["cache_read_input_tokens"], new["cache_creation_input_tokens"]) == (0, 0)
    assert again["cache_read_input_tokens"] == new["input_tokens"]
    assert again["input_tokens"] == 0
    assert again["output_tokens"] == ANSWER_WORDS + 1
    received = await all_events(await post(http, stream=True))
    for usage in (received[0].data["message"]["usage"], received[-2].data["usage"]):
        assert (usage["input_tokens"], usage["cache_read_input_tokens"]) == (0, new["input_tokens"])


async def test_token_count_equals_prompt_length(api: Api, http: aiohttp.ClientSession) -> None:
    prompt = PROMPT | {"system": "Be brief."}
    counted = await http.post("/v1/messages/count_tokens", json=prompt, headers=VERSION)
    assert counted.headers["request-id"]
    await post(http, **prompt)
    [request] = api.engine.requests
    assert await counted.json() == {"input_tokens": len(request.prompt)}
    assert text_of(request.prompt) == "<system\nBe brief.><user\nhi><assistant\n"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"max_tokens": None}, "max_tokens"),
        ({"messages": [{"role": "user", "content": "x" * WINDOW}]}, f"tokens > {WINDOW} maximum"),
        ({"tools": [{"name": "x"}]}, "tools"),
        ({"stop_sequences": [5]}, "stop_sequences[0]"),
    ],
    ids=["max_tokens", "window", "tools", "stop_sequences"],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_invalid_request_is_refused_naming_the_field(
    http: aiohttp.ClientSession, fields: dict[str, Any], words: str, stream: bool
) -> None:
    response = await post(http, stream=stream, **fields)
    assert response.status == 400
    kind, message = await error_of(response)
    assert kind == "invalid_request_error"
    assert words in message


async def test_every_error_has_anthropics_shape(http: aiohttp.ClientSession) -> None:
    for path, body in (("/v1/messages", BODY), ("/v1/messages/count_tokens", PROMPT)):
        for response, status, kind in (
            (await http.post(path, json=body | {"model": "other"}), 404, "not_found_error"),
            (await http.post(path, data=b"{"), 400, "invalid_request_error"),
            (await http.post(path, data=io.BytesIO(bytes(MAX_BODY_BYTES + 1))), 413, "request_too_large"),
            (await http.get(path), 405, "invalid_request_error"),
            (await http.post(path, json=body, headers={"Host": "evil.example"}), 403, "permission_error"),
        ):
            assert response.status == status
            assert (await error_of(response))[0] == kind
    unknown = await http.get("/v1/messages/batches")
    assert unknown.status == 404
    assert (await error_of(unknown))[0] == "not_found_error"
    assert (await http.get("/v1/messages")).headers["Allow"] == "POST"


async def test_errors_on_other_paths_have_openais_shape(http: aiohttp.ClientSession) -> None:
    for path in ("/v1/messagesx", "/v1/nothing", "/v1", "/v1/chat/messages"):
        response = await http.post(path)
        assert set((await response.json())["error"]) == {"message", "type", "param", "code"}, path
        assert "request-id" not in response.headers


async def test_full_queue_is_a_rate_limit_error_with_retry_after(tmp_path: Path) -> None:
    async with running_server(tmp_path, ReplayEngine(max_waiting=0)) as server, api_client(server.url) as http:
        response = await post(http)
        assert response.status == 429
        assert response.headers["Retry-After"] == "3"
        assert (await error_of(response))[0] == "rate_limit_error"


async def test_starting_server_reports_overloaded_error(tmp_path: Path) -> None:
    async with running_server(tmp_path, ReplayEngine(), ready=False) as server, api_client(server.url) as http:
        response = await post(http)
        assert response.status == 503
        assert int(response.headers["Retry-After"]) >= 1
        assert (await error_of(response))[0] == "overloaded_error"


async def test_engine_failure_ends_stream_with_error_event(http: aiohttp.ClientSession) -> None:
    failing = [{"role": "user", "content": FAILING}]
    response = await post(http, messages=failing, stream=True)
    *before, last = await all_events(response)
    assert "".join(event.data["delta"]["text"] for event in before if "delta" in event.data) == " w0 w1 w2"
    details = {"error_code": "engine_error"}
    error = {"type": "api_error", "message": "The model failed on this request", "details": details}
    request_id = response.headers["request-id"]
    assert last == Event("error", {"type": "error", "error": error, "request_id": request_id})
    whole = await post(http, messages=failing)
    assert whole.status == 500
    assert (await error_of(whole))[0] == "api_error"


async def test_server_stop_ends_stream_with_overloaded_error(api: Api, http: aiohttp.ClientSession) -> None:
    api.engine.hold()
    asking = asyncio.create_task(post(http, stream=True))
    await api.engine.until_running(1)
    api.engine.allow(2)
    response = await asking
    await api.engine.stop(0)
    last = (await all_events(response))[-1]
    assert (last.kind, last.data["error"]["type"]) == ("error", "overloaded_error")


@pytest.mark.parametrize("stream", [False, True])
async def test_disconnected_client_aborts_its_request(api: Api, http: aiohttp.ClientSession, stream: bool) -> None:
    api.engine.hold()
    leaving = asyncio.create_task(post(http, stream=stream))
    await api.engine.until_running(1)
    if stream:
        api.engine.allow(2)
        response = await leaving
        await anext(events(response))
        response.close()
    else:
        leaving.cancel()
    await api.engine.until_running(0)
    assert api.engine.finished == {"abort": 1}
