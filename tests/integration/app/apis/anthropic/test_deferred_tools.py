"""Deferred tools through Anthropic's client, in bodies of Claude Code 2.1 with its own search for tools, shortened."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from anthropic import AsyncAnthropic

from engine.testing.byte_tokenizer import text_of
from engine.testing.replay_engine import ReplayEngine
from engine.testing.script import Said
from tests.integration.api_server import RunningServer, running_server
from tests.integration.compatibility import row

CALL = '<tool_call>\n{"name": "ToolSearch", "arguments": {"query": "select:WebFetch"}}\n</tool_call>'
EMPTY: dict[str, Any] = {"type": "object", "properties": {}}
PLACEHOLDER = {
    "name": "DeferredToolPlaceholder",
    "description": "Reserved placeholder that keeps deferred tool loading active; never call this tool.",
    "input_schema": EMPTY,
    "defer_loading": True,
}
TOOLS = [
    {"name": "Bash", "description": "Runs a command.", "input_schema": EMPTY, "eager_input_streaming": True},
    {"name": "ToolSearch", "description": "Fetches schema definitions.", "input_schema": EMPTY},
]
WEB_FETCH = {"name": "WebFetch", "description": "Fetches a page.", "input_schema": EMPTY, "defer_loading": True}
QUESTION: Any = {
    "role": "user",
    "content": [
        {"type": "text", "text": "<system-reminder>\nThe following deferred tools are available: WebFetch\n"},
        {"type": "text", "text": "Read the page.", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
    ],
}

Api = RunningServer[ReplayEngine]


@pytest.fixture
async def calling(tmp_path: Path) -> AsyncIterator[Api]:
    async with running_server(tmp_path, ReplayEngine(Said(CALL))) as server:
        yield server


@row("anthropic", "messages.create(tools=[{'defer_loading': True, ...}])", "the tool enters the prompt at the first "
     "`tool_reference` of a result; the prompt before it stays as it was, so its KV is found again")  # fmt: skip
async def test_tool_found_by_the_clients_search_is_loaded(calling: Api) -> None:
    async with AsyncAnthropic(base_url=calling.url, api_key="none", max_retries=0) as client:

        async def answer(tools: list[Any], *turns: Any) -> Any:
            return await client.messages.create(
                model="fake-1", max_tokens=200, tools=tools, messages=[QUESTION, *turns]
            )

        first = await answer([*TOOLS, PLACEHOLDER])
        [search] = first.content
        found = {"type": "tool_reference", "tool_name": "WebFetch"}
        result = {"type": "tool_result", "tool_use_id": search.id, "content": [found]}
        await answer(
            # Claude Code inserts a tool that was found among the others.
            [TOOLS[0], WEB_FETCH, TOOLS[1], PLACEHOLDER],
            {"role": "assistant", "content": first.content},
            {"role": "user", "content": [result]},
        )
    assert (search.name, search.input) == ("ToolSearch", {"query": "select:WebFetch"})
    before, after = (list(request.prompt) for request in calling.engine.requests)
    length = len(before) + len(CALL)
    assert after[: len(before)] == before
    assert text_of(after[len(before) : length]) == CALL
    assert '<function>{"name": "WebFetch", "description": "Fetches a page."' in text_of(after[length:])
    assert "DeferredToolPlaceholder" not in text_of(after)
