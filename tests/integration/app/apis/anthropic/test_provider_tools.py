"""Tools of Anthropic's own: those that the client runs are offered, and the others are left out."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic import AsyncAnthropic

from engine.testing.byte_tokenizer import text_of
from engine.testing.replay_engine import ReplayEngine
from engine.testing.script import Said
from tests.integration.api_server import RunningServer, running_server
from tests.integration.compatibility import row

CALL = '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>'
HOSTED: list[dict[str, Any]] = [
    {"type": "web_search_20250305", "name": "web_search"},
    {"type": "web_fetch_20250910", "name": "web_fetch"},
    {"type": "code_execution_20250825", "name": "code_execution"},
    {"type": "computer_20250124", "name": "computer", "display_width_px": 1, "display_height_px": 1},
]


Api = RunningServer[ReplayEngine]


@pytest.fixture
async def calling(tmp_path: Path) -> AsyncIterator[Api]:
    async with running_server(tmp_path, ReplayEngine(Said(CALL))) as server:
        yield server


@row("anthropic", "messages.create(tools=[{'type': 'web_search_20250305', ...}])", "a tool that Anthropic's servers "
     "would run is left out and named in `X-Ebb-Ignored`; `BadRequestError` if `tool_choice` names it")  # fmt: skip
@pytest.mark.parametrize("tool", HOSTED)
async def test_only_a_choice_of_anthropics_tool_is_refused(calling: Api, tool: Any) -> None:
    asked: Any = {"model": "fake-1", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}], "tools": [tool]}
    async with AsyncAnthropic(base_url=calling.url, api_key="none", max_retries=0) as client:
        made = await client.messages.with_raw_response.create(**asked)
        assert made.headers["X-Ebb-Ignored"] == f"tools.{tool['type']}"
        with pytest.raises(anthropic.BadRequestError, match="no function that a client runs"):
            await client.messages.create(**asked, tool_choice={"type": "any"})
        with pytest.raises(anthropic.BadRequestError, match=f"no function {tool['name']} that a client runs"):
            await client.messages.create(**asked, tool_choice={"type": "tool", "name": tool["name"]})


@row("anthropic", "messages.create(tools=[{'type': 'bash_20250124', ...}])", "the tools that the client runs (`bash`, "
     "`text_editor`, `memory`) are offered with their documented input")  # fmt: skip
async def test_tools_of_the_client_are_offered(calling: Api) -> None:
    tools: Any = [
        {"type": "bash_20250124", "name": "bash"},
        {"type": "text_editor_20250124", "name": "str_replace_editor"},
        {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool", "max_characters": 500},
        {"type": "memory_20250818", "name": "memory"},
    ]
    async with AsyncAnthropic(base_url=calling.url, api_key="none", max_retries=0) as client:
        made = await client.messages.create(
            model="fake-1", max_tokens=200, messages=[{"role": "user", "content": "List the files."}], tools=tools
        )
    assert made.stop_reason == "tool_use"
    assert [block.to_dict()["input"] for block in made.content] == [{"command": "ls"}]
    said = text_of(calling.engine.requests[0].prompt)
    for name, fields in {
        "bash": ["command", "restart"],
        "str_replace_editor": ["undo_edit", "new_str"],
        "str_replace_based_edit_tool": ["insert_text", "view_range"],
        "memory": ["rename", "old_path"],
    }.items():
        [line] = [line for line in said.splitlines() if f'"name": "{name}"' in line]
        assert all(f'"{field}"' in line for field in fields)
