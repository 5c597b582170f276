"""Ollama's routes on the wire: lines, errors, headers and the root, as clients in any language read them."""

import asyncio
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from engine.testing.byte_tokenizer import text_of
from engine.testing.replay_engine import FAILING, WINDOW, ReplayEngine
from engine.testing.script import ANSWER_WORDS
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.tenants import serving_people

Api = RunningServer[ReplayEngine]

WHOLE_ANSWER = "".join(f" w{i}" for i in range(ANSWER_WORDS))
HI: list[Any] = [{"role": "user", "content": "hi"}]
FAIL: list[Any] = [{"role": "user", "content": FAILING}]


async def chat(http: aiohttp.ClientSession, **fields: Any) -> aiohttp.ClientResponse:
    return await http.post("/api/chat", json={"model": "fake-1", "messages": HI, **fields})


async def generate(http: aiohttp.ClientSession, **fields: Any) -> aiohttp.ClientResponse:
    return await http.post("/api/generate", json={"model": "fake-1", "prompt": "hi", **fields})


async def lines_of(response: aiohttp.ClientResponse) -> list[dict[str, Any]]:
    assert response.headers["Content-Type"] == "application/x-ndjson"
    return [json.loads(line) for line in (await response.text()).splitlines()]


async def test_chat_streams_lines_unless_asked_not_to(http: aiohttp.ClientSession) -> None:
    *parts, last = await lines_of(await chat(http))
    assert [part["message"]["content"] for part in parts] == [f" w{i}" for i in range(ANSWER_WORDS)]
    assert {(part["model"], part["message"]["role"], part["done"]) for part in parts} == {
        ("fake-1", "assistant", False)
    }
    assert (last["message"]["content"], last["done"], last["done_reason"]) == ("", True, "stop")
    whole = await chat(http, stream=False)
    assert whole.content_type == "application/json"
    body = await whole.json()
    assert body["message"] == {"role": "assistant", "content": WHOLE_ANSWER}
    assert body.keys() == last.keys()
    assert datetime.fromisoformat(body["created_at"]).tzinfo is not None


async def test_generate_puts_prompt_and_system_into_the_template(http: aiohttp.ClientSession, api: Api) -> None:
    body = await (await generate(http, system="Be brief.", stream=False)).json()
    assert body["response"] == WHOLE_ANSWER
    *parts, last = await lines_of(await generate(http))
    assert "".join(part["response"] for part in parts) == WHOLE_ANSWER
    assert (last["response"], last["done"]) == ("", True)
    assert [text_of(request.prompt) for request in api.engine.requests] == [
        "<system\nBe brief.><user\nhi><assistant\n",
        "<user\nhi><assistant\n",
    ]


async def test_raw_prompt_is_continued_as_it_is(http: aiohttp.ClientSession, api: Api) -> None:
    body = await (await generate(http, prompt="a<|end|>b", raw=True, stream=False)).json()
    assert body["response"] == WHOLE_ANSWER
    assert text_of(api.engine.requests[0].prompt) == "a>b"


async def test_each_engine_step_is_sent_as_one_line_at_once(http: aiohttp.ClientSession, api: Api) -> None:
    api.engine.hold()
    asking = asyncio.create_task(chat(http))
    await api.engine.until_running(1)
    response = await asking
    async with asyncio.timeout(20):
        for step in range(3):
            api.engine.allow(1)
            assert json.loads(await response.content.readline())["message"]["content"] == f" w{step}"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("options", "reason", "tokens"),
    [
        ({}, "stop", ANSWER_WORDS + 1),
        ({"num_predict": 3}, "length", 3),
        ({"num_predict": -1}, "stop", ANSWER_WORDS + 1),
        ({"num_predict": 2 * WINDOW, "num_ctx": 1}, "stop", ANSWER_WORDS + 1),
        ({"stop": ["w3"]}, "stop", 4),
    ],
    ids=["end", "limit", "no limit", "beyond the window", "stop string"],
)
async def test_answer_reports_its_end_and_counts(
    http: aiohttp.ClientSession, options: dict[str, Any], reason: str, tokens: int, stream: bool
) -> None:
    response = await chat(http, options=options, stream=stream)
    last = (await lines_of(response))[-1] if stream else await response.json()
    assert (last["done_reason"], last["eval_count"]) == (reason, tokens)
    assert last["total_duration"] == 10_000_000
    assert last["prompt_eval_count"] == last["kv"]["computed"] > 0


async def test_request_without_a_prompt_finds_the_model_loaded(http: aiohttp.ClientSession, api: Api) -> None:
    for path, content in (
        ("/api/chat", {"message": {"role": "assistant", "content": ""}}),
        ("/api/generate", {"response": ""}),
    ):
        response = await http.post(path, json={"model": "fake-1:latest", "keep_alive": 0})
        body = await response.json()
        assert body.pop("created_at")
        assert body == {"model": "fake-1:latest", **content, "done": True, "done_reason": "load"}
    assert api.engine.requests == []


@pytest.mark.parametrize(
    ("path", "fields", "words"),
    [
        ("/api/chat", {"options": {"temperature": -1}}, "options.temperature"),
        (
            "/api/chat",
            {"messages": [{"role": "user", "content": "x" * WINDOW}]},
            "messages: This model's maximum context length is",
        ),
        ("/api/chat", {"think": True}, "think: fake-1 does not think"),
        ("/api/generate", {"prompt": "x" * WINDOW}, "prompt"),
        ("/api/generate", {"prompt": "x" * WINDOW, "raw": True}, "prompt"),
        ("/api/generate", {"raw": True, "system": "x"}, "system: a raw prompt"),
        ("/api/generate", {"suffix": "x"}, "suffix is not supported"),
        ("/api/show", {}, "model is required"),
    ],
)
@pytest.mark.parametrize("stream", [None, False])
async def test_refused_request_gets_one_sentence_naming_the_field(
    http: aiohttp.ClientSession, path: str, fields: dict[str, Any], words: str, stream: bool | None
) -> None:
    named = {} if path == "/api/show" else {"model": "fake-1", "messages": HI, "stream": stream}
    if path == "/api/generate":
        named = {"model": "fake-1", "prompt": "hi", "stream": stream}
    response = await http.post(path, json={**named, **fields})
    assert response.status == 400
    body = await response.json()
    assert body.keys() == {"error"}
    assert words in body["error"]


async def test_errors_of_other_layers_have_ollamas_shape(tmp_path: Path) -> None:
    async with serving_people(tmp_path) as people:
        for response, status in (
            (await people.stranger.get("/api/tags"), 401),
            (await people.alice.get("/api/tags", headers={"Host": "evil.example"}), 403),
            (await chat(people.alice, model="other"), 404),
            (await people.alice.get("/api/chat"), 405),
            (await people.alice.post("/api/chat", data="x", headers={"Content-Encoding": "br"}), 415),
        ):
            assert response.status == status
            assert (await response.json()).keys() == {"error"}
        unknown = await people.alice.get("/api/nothing")
        assert (await unknown.json())["error"]["code"] == "not_found"


async def test_page_of_another_site_cannot_read_the_models(http: aiohttp.ClientSession) -> None:
    for path in ("/api/tags", "/api/ps", "/api/version"):
        response = await http.get(path, headers={"Sec-Fetch-Site": "cross-site"})
        assert response.status == 403
        assert (await response.json()).keys() == {"error"}


async def test_starting_server_refuses_in_ollamas_shape(tmp_path: Path) -> None:
    async with running_server(tmp_path, ReplayEngine(), ready=False) as server, api_client(server.url) as http:
        for response in (await chat(http), await generate(http), await http.get("/api/tags")):
            assert response.status == 503
            assert int(response.headers["Retry-After"]) >= 1
            assert "starting" in (await response.json())["error"]
        assert (await http.get("/api/version")).status == 200


async def test_engine_failure_ends_the_stream_with_an_error_line(http: aiohttp.ClientSession) -> None:
    *parts, last = await lines_of(await chat(http, messages=FAIL))
    assert "".join(part["message"]["content"] for part in parts) == " w0 w1 w2"
    assert last == {"error": "The model failed on this request"}
    whole = await chat(http, messages=FAIL, stream=False)
    assert (whole.status, await whole.json()) == (500, last)


@pytest.mark.parametrize("stream", [False, True])
async def test_disconnected_client_aborts_its_request(api: Api, http: aiohttp.ClientSession, stream: bool) -> None:
    api.engine.hold()
    leaving = asyncio.create_task(chat(http, stream=stream))
    await api.engine.until_running(1)
    if stream:
        api.engine.allow(2)
        response = await leaving
        await response.content.readline()
        response.close()
    else:
        leaving.cancel()
    await api.engine.until_running(0)
    assert api.engine.finished == {"abort": 1}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *[("POST", f"/api/{name}") for name in ("pull", "push", "create", "copy")],
        ("POST", "/api/blobs/sha256:00"),
        ("DELETE", "/api/delete"),
    ],
)
async def test_route_that_one_model_cannot_serve_says_so(http: aiohttp.ClientSession, method: str, path: str) -> None:
    response = await http.request(method, path, json={"model": "fake-1"})
    assert response.status == 400
    assert path in (await response.json())["error"]


async def test_head_requests_find_the_server(http: aiohttp.ClientSession) -> None:
    for path in ("/", "/api/tags", "/api/version"):
        assert (await http.head(path)).status == 200
