"""OpenAI routes, asked by plain requests: what no client of OpenAI's shows."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from app.logs.log_lines import TextLines
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer
from tests.integration.sse_events import events

Api = RunningServer[ReplayEngine]

MESSAGES: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]


async def test_overload_is_refused_with_retry_after(api: Api, http: aiohttp.ClientSession) -> None:
    api.engine.hold()
    body = {"model": "fake-1", "prompt": "x"}
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(http.post("/v1/completions", json=body)) for _ in range(64)]
        await api.engine.until_running(64)
        response = await http.post("/v1/completions", json=body)
        assert response.status == 429
        assert response.headers["Retry-After"] == "3"
        assert (await response.json())["error"]["code"] == "overloaded"
        api.engine.allow(None)
    assert {(await task).status for task in waiting} == {200}


@pytest.mark.parametrize("stream", [False, True])
async def test_disconnected_client_aborts_its_request(api: Api, http: aiohttp.ClientSession, stream: bool) -> None:
    api.engine.hold()
    body = {"model": "fake-1", "messages": MESSAGES, "stream": stream}
    leaving = asyncio.create_task(http.post("/v1/chat/completions", json=body))
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


async def test_many_disconnects_at_once_abort_every_request(api: Api, http: aiohttp.ClientSession) -> None:
    api.engine.hold()
    for round_of in range(4):
        body = {"model": "fake-1", "prompt": "x", "stream": round_of % 2 == 0}
        leaving = [asyncio.create_task(http.post("/v1/completions", json=body)) for _ in range(25)]
        await api.engine.until_running(25)
        for task in leaving:
            task.cancel()
        # A streamed response may have arrived before its task was cancelled.
        for response in await asyncio.gather(*leaving, return_exceptions=True):
            if isinstance(response, aiohttp.ClientResponse):
                response.close()
        await api.engine.until_running(0)
    assert api.engine.finished == {"abort": 100}


async def test_raw_stream_is_data_lines_ending_with_done(http: aiohttp.ClientSession) -> None:
    response = await http.post("/v1/completions", json={"model": "fake-1", "prompt": "x", "stream": True})
    assert response.headers["Content-Type"].startswith("text/event-stream")
    lines = [line for line in (await response.text()).split("\n\n") if line]
    assert lines[-1] == "data: [DONE]"
    for line in lines[:-1]:
        assert set(json.loads(line.removeprefix("data: "))) >= {"id", "object", "created", "model", "choices"}


async def test_request_id_is_kept_if_valid_and_generated_otherwise(http: aiohttp.ClientSession, api: Api) -> None:
    body = {"model": "fake-1", "prompt": "x"}
    named = await http.post("/v1/completions", json=body, headers={"X-Request-Id": "mine-1"})
    unnamed = await http.post("/v1/completions", json=body)
    strange = await http.post("/v1/completions", json=body, headers={"X-Request-Id": "a b;c"})
    assert named.headers["X-Request-Id"] == "mine-1"
    assert api.engine.requests[0].request_id.startswith("mine-1")
    assert unnamed.headers["X-Request-Id"].startswith("req_")
    assert strange.headers["X-Request-Id"].startswith("req_")


async def test_finished_request_logs_one_line_without_text(
    http: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="ebb.requests")
    body = {"model": "fake-1", "prompt": "a secret", "max_tokens": 3}
    await http.post("/v1/completions", json=body, headers={"X-Request-Id": "mine"})
    [line] = [TextLines().format(record) for record in caplog.records if record.name == "ebb.requests"]
    assert "request method=POST route=/v1/completions status=200 request_id=mine ms=" in line
    assert "finish=length prompt_tokens=8 device=0 cpu=0 redis=0 disk=0 computed=8 completion_tokens=3 " in line
    assert "ttft_ms=" in line
    assert "secret" not in line
