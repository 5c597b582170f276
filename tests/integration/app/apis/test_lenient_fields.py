"""Fields of other servers: those without an effect on the answer are ignored, and an error says what to do."""

from typing import Any

import aiohttp
import pytest

from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer

Api = RunningServer[ReplayEngine]

HI: list[Any] = [{"role": "user", "content": "hi"}]
LONG_NAME = "mcp__plugin_atlassian_atlassian__" + "x" * 95
STOPS = [f"\n{name}:" for name in range(127)] + [""]
CALL = {"id": "1", "type": "function", "function": {"name": "now", "arguments": {"zone": "UTC"}}}
FUNCTION = {"type": "function", "function": {"name": LONG_NAME}}

PARAMETERS: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "/v1/chat/completions": (
        {"messages": HI},
        [
            {"prediction": {"type": "content", "content": "x"}},
            {"web_search_options": {}},
            {"top_p": 0},
            {"top_k": 40.0},
            {"seed": 1.0},
            {"stop": ""},
            {"stop": ["", "x"]},
            {"stop": STOPS},
            {"tool_choice": "any", "tools": [FUNCTION]},
            {"max_tokens": 5.0},
            {"tools": [FUNCTION], "tool_choice": "none"},
            {"thinking": {"type": "enabled", "budget_tokens": 5}},
            {"thinking": {"type": "disabled"}},
            {"messages": [*HI, {"role": "assistant", "tool_calls": [CALL]}, *HI]},
            {"messages": [*HI, {"role": "assistant", "content": "a", "annotations": [{"type": "url_citation"}]}, *HI]},
        ],
    ),
    "/v1/completions": ({"prompt": "hi"}, [{"stop": STOPS}]),
    "/v1/responses": (
        {"input": "hi"},
        [
            {"top_logprobs": 3},
            {"tools": [{"type": "function", "name": LONG_NAME, "allowed_callers": ["programmatic"]}]},
            {"max_output_tokens": 5.0},
        ],
    ),
    "/v1/messages": (
        {"messages": HI, "max_tokens": 5},
        [
            {"thinking": {"type": "enabled", "budget_tokens": 1024}},
            {"tools": [{"name": LONG_NAME, "input_schema": {"type": "object"}, "allowed_callers": ["code_execution"]}]},
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "a", "citations": [{"type": "x"}]}]}]},
            {"mcp_servers": [{"type": "url", "url": "https://example.com", "name": "x"}]},
            {"container": "c", "speed": "fast"},
            {"stop_sequences": STOPS},
            {"stop_sequences": [""]},
        ],
    ),
    "/api/chat": (
        {"messages": HI},
        [
            {"options": {"stop": STOPS}},
            {"options": {"temperature": 7.5}},
            {"options": {"seed": 42.0, "num_predict": 5.0, "top_k": 4.0, "repeat_last_n": 64.0}},
            {
                "messages": [
                    {"role": "assistant", "tool_calls": [{"function": {"name": "now", "arguments": None}}]},
                    *HI,
                ]
            },
        ],
    ),
    "/tokenize": ({"messages": HI}, [{"tools": [FUNCTION]}]),
}
TAKEN = [(route, {**body, **fields}) for route, (body, each) in PARAMETERS.items() for fields in each]


@pytest.mark.parametrize(("route", "body"), TAKEN)
async def test_field_of_other_servers_is_taken(http: aiohttp.ClientSession, route: str, body: dict[str, Any]) -> None:
    response = await http.post(route, json={"model": "fake-1", **body})
    assert response.status == 200, await response.text()


@pytest.mark.parametrize(
    ("route", "fields", "named"),
    [
        ("/v1/chat/completions", {"messages": HI, "stop": ""}, "stop"),
        ("/v1/chat/completions", {"messages": HI, "stop": ["", "x"]}, "stop"),
        ("/v1/chat/completions", {"messages": HI, "stop": ["x"]}, None),
        ("/v1/completions", {"prompt": "hi", "stop": [""]}, "stop"),
        ("/v1/messages", {"messages": HI, "max_tokens": 5, "stop_sequences": [""]}, "stop_sequences"),
        ("/api/chat", {"messages": HI, "options": {"stop": [""]}}, "stop"),
    ],
)
async def test_empty_stop_string_is_named_among_ignored_fields(
    http: aiohttp.ClientSession, route: str, fields: dict[str, Any], named: str | None
) -> None:
    response = await http.post(route, json={"model": "fake-1", **fields})
    assert response.status == 200
    assert response.headers.get("X-Ebb-Ignored") == named


async def test_tools_count_in_tokenize(http: aiohttp.ClientSession) -> None:
    counts = [
        (await (await http.post("/tokenize", json={"messages": HI, **fields})).json())["count"]
        for fields in ({}, {"tools": [FUNCTION]}, {"tools": [FUNCTION], "tool_choice": "none"})
    ]
    assert counts[0] == counts[2] < counts[1]


async def test_arguments_as_object_are_written_as_text(api: Api, http: aiohttp.ClientSession) -> None:
    for arguments in ({"zone": "UTC"}, '{"zone": "UTC"}'):
        call = {**CALL, "function": {"name": "now", "arguments": arguments}}
        body = {"model": "fake-1", "messages": [*HI, {"role": "assistant", "tool_calls": [call]}, *HI]}
        assert (await http.post("/v1/chat/completions", json=body)).status == 200
    assert api.engine.requests[0].prompt == api.engine.requests[1].prompt


@pytest.mark.parametrize(
    ("method", "path", "words"),
    [
        ("POST", "/chat/completions", "base URL of OpenAI's clients ends with /v1"),
        ("POST", "/v1//chat/completions", "base URL of OpenAI's clients ends with /v1"),
        ("POST", "/v1/v1/messages", "without /v1"),
        ("POST", "/openai/deployments/gpt/chat/completions", "base URL of OpenAI's clients"),
        ("POST", "/v1/files", "does not have this API"),
        ("POST", "/v1/messages/batches", "does not have this API"),
        ("GET", "/v1/chat/completions/chatcmpl-1", "use /v1/responses"),
    ],
)
async def test_unknown_route_says_what_to_do(http: aiohttp.ClientSession, method: str, path: str, words: str) -> None:
    response = await http.request(method, path, json={} if method == "POST" else None)
    assert response.status == 404
    assert words in (await response.json())["error"]["message"]


@pytest.mark.parametrize(
    ("route", "body", "words"),
    [
        (
            "/v1/chat/completions",
            {"messages": HI, "tools": [{"type": "functon"}]},
            "tools[0].type: must be one of function, custom",
        ),
        (
            "/v1/chat/completions",
            {"messages": HI, "functions": [{}]},
            "functions is not supported: leave it out or send []",
        ),
        (
            "/v1/responses",
            {"input": "hi", "prompt": {"id": "x"}},
            "prompt is not supported: leave it out",
        ),
    ],
)
async def test_refusal_says_what_to_do(http: aiohttp.ClientSession, route: str, body: Any, words: str) -> None:
    response = await http.post(route, json={"model": "fake-1", **body})
    assert response.status == 400
    assert words in (await response.json())["error"]["message"]
