"""Calls of functions that no client offered, under names that none could have. Clients send them back."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from ollama import AsyncClient as OllamaClient
from openai import AsyncOpenAI

from engine.testing.replay_engine import ReplayEngine
from engine.testing.script import Said
from tests.integration.api_server import RunningServer, running_server

NAME = "functions:weather of " + "Rome" * 20
CALL = f'<tool_call>\n{{"name": "{NAME}", "arguments": {{}}}}\n</tool_call>'
FUNCTION = {"name": "weather", "parameters": {"type": "object"}}
CHAT_TOOLS: Any = [{"type": "function", "function": FUNCTION}]
USER: Any = {"role": "user", "content": "Rome?"}

Api = RunningServer[ReplayEngine]


@pytest.fixture
async def calling(tmp_path: Path) -> AsyncIterator[Api]:
    async with running_server(tmp_path, ReplayEngine(Said(CALL))) as server:
        yield server


def assert_continues_the_first(engine: ReplayEngine) -> None:
    first, *_, last = engine.requests
    before = (*first.prompt, *first.produced)
    assert last.prompt[: len(before)] == before


async def test_chat_completions_take_call_back(calling: Api) -> None:
    async with AsyncOpenAI(base_url=f"{calling.url}/v1", api_key="none", max_retries=0) as client:
        asked: dict[str, Any] = {"model": "fake-1", "tools": CHAT_TOOLS}
        answer = await client.chat.completions.create(**asked, messages=[USER])
        message: Any = answer.choices[0].message.model_dump(exclude_none=True)
        assert message["tool_calls"][0]["function"]["name"] == NAME
        await client.chat.completions.create(**asked, messages=[USER, message, USER])
    assert_continues_the_first(calling.engine)


async def test_messages_take_call_back(calling: Api) -> None:
    async with AsyncAnthropic(base_url=calling.url, api_key="none", max_retries=0) as client:
        tools: Any = [{"name": "weather", "input_schema": {"type": "object"}}]
        asked: dict[str, Any] = {"model": "fake-1", "max_tokens": 500, "tools": tools}
        answer = await client.messages.create(**asked, messages=[USER])
        message: Any = {"role": "assistant", "content": [block.to_dict() for block in answer.content]}
        await client.messages.create(**asked, messages=[USER, message, USER])
    assert_continues_the_first(calling.engine)


async def test_responses_take_call_back_as_item_and_reference(calling: Api) -> None:
    async with AsyncOpenAI(base_url=f"{calling.url}/v1", api_key="none", max_retries=0) as client:
        asked: dict[str, Any] = {"model": "fake-1", "tools": [{"type": "function", **FUNCTION, "strict": None}]}
        answer = await client.responses.create(**asked, input="Rome?")
        [item] = answer.output
        reference: dict[str, Any] = {"type": "item_reference", "id": item.id}
        sent: list[Any] = [item.to_dict(), reference]
        for sent_back in sent:
            await client.responses.create(**asked, input=[USER, sent_back, USER])
            assert_continues_the_first(calling.engine)


async def test_ollama_takes_call_back(calling: Api) -> None:
    async with OllamaClient(host=calling.url) as client:
        answer = await client.chat("fake-1", [USER], tools=CHAT_TOOLS)
        await client.chat("fake-1", [USER, answer.message, USER], tools=CHAT_TOOLS)
    assert_continues_the_first(calling.engine)
