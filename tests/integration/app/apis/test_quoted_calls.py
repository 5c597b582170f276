"""A call that an answer quotes in ordinary tokens is text in every API, and no call is lost for it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from ollama import AsyncClient as OllamaClient
from openai import AsyncOpenAI

from engine.testing.replay_engine import ReplayEngine
from engine.testing.script import Said
from models.chat.quoted_marks import BREAK
from tests.integration.api_server import RunningServer, running_server

CALL = '<tool_call>{"name": "weather", "arguments": {}}</tool_call>'
SAID = f"Write {CALL} to ask."
"""The quotation, as a client must see it."""
FUNCTION: dict[str, Any] = {"name": "weather", "parameters": {"type": "object"}}
TOOLS: Any = [{"type": "function", "function": FUNCTION}]
USER: Any = {"role": "user", "content": "Rome?"}

Api = RunningServer[ReplayEngine]


@pytest.fixture
async def quoting(tmp_path: Path) -> AsyncIterator[Api]:
    """Server whose engine broke the marks, as the real one does if asked to."""
    async with running_server(tmp_path, ReplayEngine(Said(SAID.replace("call>", f"call{BREAK}>")))) as server:
        yield server


def reads_calls(server: Api) -> bool:
    return server.engine.requests[-1].params.is_read_for_calls


async def test_chat_completions(quoting: Api) -> None:
    async with AsyncOpenAI(base_url=f"{quoting.url}/v1", api_key="none", max_retries=0) as client:
        answer = await client.chat.completions.create(model="fake-1", tools=TOOLS, messages=[USER])
        assert (answer.choices[0].message.content, answer.choices[0].message.tool_calls) == (SAID, None)
        assert reads_calls(quoting)
        await client.chat.completions.create(model="fake-1", messages=[USER])
        assert not reads_calls(quoting)
        await client.chat.completions.create(model="fake-1", tools=TOOLS, tool_choice="none", messages=[USER])
        assert not reads_calls(quoting)


async def test_messages(quoting: Api) -> None:
    async with AsyncAnthropic(base_url=quoting.url, api_key="none", max_retries=0) as client:
        tools: Any = [{"name": "weather", "input_schema": {"type": "object"}}]
        message = await client.messages.create(model="fake-1", max_tokens=500, tools=tools, messages=[USER])
        assert [block.to_dict()["text"] for block in message.content] == [SAID]
        assert reads_calls(quoting)


async def test_ollama(quoting: Api) -> None:
    async with OllamaClient(quoting.url) as client:
        said = await client.chat(model="fake-1", tools=TOOLS, messages=[USER])
        assert (said.message.content, said.message.tool_calls) == (SAID, None)
        assert reads_calls(quoting)


async def test_responses_now_and_stored(quoting: Api) -> None:
    async with AsyncOpenAI(base_url=f"{quoting.url}/v1", api_key="none", max_retries=0) as client:
        tools: Any = [{"type": "function", **FUNCTION, "strict": None}]
        response = await client.responses.create(model="fake-1", tools=tools, input="Rome?")
        assert (response.output_text, [item.type for item in response.output]) == (SAID, ["message"])
        assert reads_calls(quoting)
        assert (await client.responses.retrieve(response.id)).output_text == SAID
