"""Forms of answers in every API: keywords that no mask enforces are named, and an answer with tools may be a call."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from engine.wiring.build import build_engine
from tests.integration.api_server import running_server
from tests.integration.engine_rig import engine_config

TWICE = {"type": "array", "items": {"const": 1}, "minItems": 2, "maxItems": 2, "uniqueItems": True}
ONCE = {"type": "array", "items": {"const": 1}, "minItems": 2, "maxItems": 2, "not": {"const": [2]}, "default": "(?=a)"}
USER = [{"role": "user", "content": "Count"}]
FUNCTION = {"name": "now", "description": "Return the time", "parameters": {"type": "object", "properties": {}}}


def chat(schema: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    tools = [{"type": "function", "function": FUNCTION}]
    return "/v1/chat/completions", {"messages": USER, "max_tokens": 40, "response_format": form, "tools": tools}


def object_format(schema: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return "/v1/chat/completions", {
        "messages": USER, "max_tokens": 40, "response_format": {"type": "json_object", "schema": schema}
    }  # fmt: skip


def response(schema: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    form = {"type": "json_schema", "name": "a", "schema": schema}
    tools = [{"type": "function", **FUNCTION}]
    return "/v1/responses", {"input": "Count", "max_output_tokens": 40, "text": {"format": form}, "tools": tools}


def message(schema: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    tools = [{"name": "now", "input_schema": FUNCTION["parameters"]}]
    form = {"format": {"type": "json_schema", "schema": schema}}
    return "/v1/messages", {"messages": USER, "max_tokens": 40, "output_config": form, "tools": tools}


def ollama(schema: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    tools = [{"type": "function", "function": FUNCTION}]
    return "/api/chat", {
        "messages": USER, "stream": False, "format": schema, "tools": tools, "options": {"num_predict": 40}
    }  # fmt: skip


APIS = (chat, object_format, response, message, ollama)


@pytest.fixture
async def url(shallow_model: Path, tmp_path: Path) -> AsyncIterator[str]:
    config = engine_config(shallow_model, tmp_path / "state", redis_url="off")
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    async with running_server(tmp_path, engine) as server:
        yield server.url


def kv_of(body: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = body["kv"] if "kv" in body else body["usage"]["kv"]
    return found


async def test_what_is_not_enforced_is_named_and_checked(url: str) -> None:
    async with aiohttp.ClientSession(url) as session:
        for api in APIS:
            for schema, keyword, verdict in ((TWICE, "uniqueItems", "invalid"), (ONCE, "not", "valid")):
                path, body = api(schema)
                # Without tools the answer has the form, whatever the model would rather write.
                body.pop("tools", None)
                async with session.post(path, json={"model": "smollm2", **body}) as answer:
                    shown = await answer.json()
                    assert answer.status == 200, shown
                    assert answer.headers["X-Ebb-Ignored"] == f"schema.{keyword}", api
                assert kv_of(shown)["form"] == verdict, (api, shown)
                assert "[1,1]" in json.dumps(shown)


async def test_answer_that_a_stop_string_cut_has_no_verdict(url: str) -> None:
    path, body = object_format(TWICE)
    async with (
        aiohttp.ClientSession(url) as session,
        session.post(path, json={"model": "smollm2", "stop": [",1"], **body}) as answer,
    ):
        assert "form" not in kv_of(await answer.json())


async def test_strict_tool_names_what_is_not_enforced(url: str) -> None:
    parameters = {"type": "object", "properties": {"a": TWICE}, "required": ["a"], "additionalProperties": False}
    async with aiohttp.ClientSession(url) as session:
        for strict in (True, False):
            tool = {"type": "function", "function": {"name": "f", "parameters": parameters, "strict": strict}}
            body = {"model": "smollm2", "messages": USER, "tools": [tool], "tool_choice": "required", "max_tokens": 80}
            async with session.post("/v1/chat/completions", json=body) as answer:
                assert answer.status == 200, await answer.text()
                assert answer.headers.get("X-Ebb-Ignored") == ("schema.uniqueItems" if strict else None)


async def test_form_with_tools_leaves_the_choice_to_the_model(url: str) -> None:
    plain = {"type": "array", "items": {"const": 1}, "minItems": 2, "maxItems": 2}
    async with aiohttp.ClientSession(url) as session:
        for api in (chat, response, message, ollama):
            path, body = api(plain)
            async with session.post(path, json={"model": "smollm2", "temperature": 0, **body}) as answer:
                text = await answer.text()
                assert answer.status == 200, text
            assert "[1,1]" in text or "now" in text.partition('"tools"')[0], (api, text)
