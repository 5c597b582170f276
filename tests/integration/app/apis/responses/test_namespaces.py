"""Requests of coding agents to the Responses API as they send them by default: namespaces, tools of the provider's."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from engine.testing.byte_tokenizer import text_of
from engine.testing.replay_engine import ReplayEngine
from engine.testing.script import Said
from tests.integration.api_server import RunningServer, running_server
from tests.integration.compatibility import row

ECHO: dict[str, Any] = {
    "type": "function",
    "name": "echo",
    "description": "Says it again",
    "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
    "strict": False,
    "defer_loading": True,
}
MCP: dict[str, Any] = {
    "type": "namespace",
    "name": "mcp__ev",
    "description": "Tools of ev",
    "tools": [ECHO, {"type": "custom", "name": "run"}],
}
PLAIN: Any = {"type": "function", "name": "plan", "parameters": None, "strict": None}
TOOLS: list[Any] = [PLAIN, MCP, {"type": "web_search", "external_web_access": False}, {"type": "local_shell"}]
CALL = '<tool_call>\n{"name": "mcp__ev__echo", "arguments": {"text": "hi"}}\n</tool_call>'
RUN = '<tool_call>\n{"name": "mcp__ev__run", "arguments": {"input": "ls"}}\n</tool_call>'
ASKED: dict[str, Any] = {"model": "fake-1", "input": "Say hi."}

Api = RunningServer[ReplayEngine]


@pytest.fixture
async def calling(tmp_path: Path) -> AsyncIterator[Api]:
    async with running_server(tmp_path, ReplayEngine(Said(CALL))) as server:
        yield server


@pytest.fixture
async def gpt(calling: Api) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{calling.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def names_in(api: Api, index: int = -1) -> list[str]:
    """Return the names of the tools that a prompt describes."""
    said = text_of(api.engine.requests[index].prompt)
    return re.findall(r'"type": "function", "function": \{"name": "([^"]+)"', said)


@row("openai", "responses.create(tools=[{'type': 'namespace', ...}])", "the namespace's functions and custom tools are "
     "described; a call has its `namespace` and `name` apart")  # fmt: skip
@pytest.mark.parametrize("store", [True, False])
async def test_call_in_namespace_has_namespace_and_name(gpt: AsyncOpenAI, calling: Api, store: bool) -> None:
    made = await gpt.responses.create(**ASKED, tools=TOOLS, store=store)
    assert names_in(calling) == ["mcp__ev__echo", "mcp__ev__run", "plan"]
    [call] = made.output
    assert call.type == "function_call"
    assert (call.namespace, call.name, call.arguments) == ("mcp__ev", "echo", '{"text": "hi"}')
    assert [tool.type for tool in made.tools] == ["function", "namespace"]
    result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "hi"}
    again: dict[str, Any] = {"tools": TOOLS, "store": store}
    if store:
        await gpt.responses.create(model="fake-1", input=[result], previous_response_id=made.id, **again)
        assert (await gpt.responses.retrieve(made.id)).output == made.output
    else:
        history = [{"role": "user", "content": "Say hi."}, call.to_dict(), result]
        await gpt.responses.create(model="fake-1", input=history, **again)
    first, second = calling.engine.requests
    assert second.prompt[: len(first.prompt) + len(first.produced)] == (*first.prompt, *first.produced)


async def test_streamed_call_has_namespace_and_name(gpt: AsyncOpenAI, calling: Api) -> None:
    calling.engine.script = Said(RUN)
    events = [event async for event in await gpt.responses.create(**ASKED, tools=TOOLS, stream=True)]
    kinds = ("response.output_item.added", "response.output_item.done")
    items: list[Any] = [event.item for event in events if event.type in kinds]
    assert [(item.type, item.namespace, item.name) for item in items] == [("custom_tool_call", "mcp__ev", "run")] * 2
    assert items[-1].input == "ls"


@row("openai", "responses.create(input=[{'type': 'additional_tools', ...}, ...])", "the tools are described with those "
     "of the field `tools`")  # fmt: skip
async def test_additional_tools_of_the_input_are_described(gpt: AsyncOpenAI, calling: Api) -> None:
    added: Any = {"type": "additional_tools", "role": "developer", "tools": [MCP, {"type": "image_generation"}]}
    found: Any = {"type": "tool_search_output", "tools": [{**PLAIN, "description": "newer"}]}
    asked: Any = [added, found, {"role": "user", "content": "Say hi."}]
    made = await gpt.responses.create(model="fake-1", input=asked, tools=[PLAIN])
    assert names_in(calling) == ["mcp__ev__echo", "mcp__ev__run", "plan"]
    assert "newer" in text_of(calling.engine.requests[0].prompt)
    assert made.output[0].type == "function_call"


async def test_hosted_tools_are_left_out_and_named(gpt: AsyncOpenAI) -> None:
    response = await gpt.responses.with_raw_response.create(**ASKED, tools=TOOLS)
    assert response.headers["X-Ebb-Ignored"] == "tools.web_search, tools.local_shell"


@pytest.mark.parametrize(
    ("choice", "called"),
    [
        ({"type": "function", "name": "echo"}, "mcp__ev__echo"),
        ({"type": "function", "name": "echo", "namespace": "mcp__ev"}, "mcp__ev__echo"),
        ({"type": "function", "name": "plan"}, "plan"),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "echo"}]}, "mcp__ev__echo"),
    ],
)
async def test_choice_finds_tool_in_its_namespace(gpt: AsyncOpenAI, calling: Api, choice: Any, called: str) -> None:
    await gpt.responses.create(**ASKED, tools=TOOLS, tool_choice=choice)
    params = calling.engine.requests[0].params
    assert names_in(calling) == [called] or (params.form is not None and called in params.form.text)


@pytest.mark.parametrize("choice", [{"type": "web_search"}, {"type": "function", "name": "web_search"}])
async def test_choice_of_hosted_tool_is_refused(gpt: AsyncOpenAI, choice: Any) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        await gpt.responses.create(**ASKED, tools=TOOLS, tool_choice=choice)
    assert str(refused.value.param).startswith("tool_choice")


async def test_required_call_without_own_tools_is_refused(gpt: AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="no function that a client runs"):
        await gpt.responses.create(**ASKED, tools=[{"type": "web_search"}], tool_choice="required")
