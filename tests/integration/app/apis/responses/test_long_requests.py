"""Requests whose work must not block the event loop: calls with long arguments, and thousands of items."""

import json
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI

from app.apis.responses import parsed_answer, service
from app.domain import records
from app.prompts import stateless
from engine.testing.replay_engine import ReplayEngine
from engine.testing.script import Said
from models.chat.tool_call_parser import ToolCallParser
from tests.integration.api_server import RunningServer, running_server

ARGUMENTS = json.dumps({"numbers": [7] * 20})
CALL = f'<tool_call>\n{{"name": "add", "arguments": {ARGUMENTS}}}\n</tool_call>'
TOOLS: list[Any] = [{"type": "function", "name": "add", "parameters": {"type": "object"}, "strict": None}]

Api = RunningServer[ReplayEngine]


@pytest.fixture
async def calling(tmp_path: Path) -> AsyncIterator[Api]:
    async with running_server(tmp_path, ReplayEngine(Said(CALL))) as server:
        yield server


@pytest.fixture
def parsing_threads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the thread of each parse of the whole call, which counts as long."""
    for module in (parsed_answer, stateless):
        monkeypatch.setattr(module, "LONG_TEXT", len(CALL))
    threads = list[int]()
    push = ToolCallParser.push

    def recorded(parser: ToolCallParser, text: str) -> Any:
        if text == CALL:
            threads.append(threading.get_ident())
        return push(parser, text)

    monkeypatch.setattr(ToolCallParser, "push", recorded)
    return threads


@pytest.mark.parametrize("stream", [False, True])
async def test_long_calls_are_parsed_off_the_event_loop(calling: Api, parsing_threads: list[int], stream: bool) -> None:
    asked: dict[str, Any] = {"model": "fake-1", "tools": TOOLS}
    async with AsyncOpenAI(base_url=f"{calling.url}/v1", api_key="none", max_retries=0) as client:
        answer: Any = await client.responses.create(**asked, input="Add", stream=stream)
        if stream:
            *_, last = [event async for event in answer]
            answer = last.response
        [call] = answer.output
        assert call.arguments == ARGUMENTS
        stored = await client.responses.retrieve(answer.id)
        assert stored.output == answer.output
        result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "9"}
        await client.responses.create(**asked, input=[result], previous_response_id=answer.id)
    assert parsing_threads
    assert threading.get_ident() not in parsing_threads


async def test_many_items_are_converted_off_the_event_loop(calling: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = list[int]()
    new_id = records.new_id

    def recorded(prefix: str) -> str:
        if prefix == "msg":
            threads.append(threading.get_ident())
        return new_id(prefix)

    monkeypatch.setattr(service, "new_id", recorded)
    items: Any = [{"role": "user", "content": "Add"}] * service.MANY_ITEMS
    async with AsyncOpenAI(base_url=f"{calling.url}/v1", api_key="none", max_retries=0) as client:
        await client.responses.input_tokens.count(model="fake-1", input=items)
    assert threads
    assert threading.get_ident() not in threads
