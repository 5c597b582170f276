"""Tools that OpenAI's servers would run, or that have calls of their own form, are refused by their type."""

from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from tests.integration.compatibility import row

HOSTED: list[tuple[dict[str, Any], str]] = [
    ({"type": "web_search"}, "servers"),
    ({"type": "web_search_preview_2025_03_11"}, "servers"),
    ({"type": "file_search", "vector_store_ids": ["vs_1"]}, "servers"),
    ({"type": "code_interpreter", "container": {"type": "auto"}}, "servers"),
    ({"type": "image_generation"}, "servers"),
    ({"type": "computer_use_preview", "display_width": 1, "display_height": 1, "environment": "mac"}, "images"),
    ({"type": "mcp", "server_label": "x", "server_url": "https://example.com"}, "MCP"),
    ({"type": "local_shell"}, "form of its own"),
    ({"type": "shell"}, "form of its own"),
    ({"type": "apply_patch"}, "form of its own"),
]


@row("openai", "responses.create(tool_choice={'type': 'web_search'}, ...)", "a tool that OpenAI's servers would run: "
     "`BadRequestError` that says what to do; where no choice names the tool, it is left out and named in "
     "`X-Ebb-Ignored`, also in chat completions")  # fmt: skip
@pytest.mark.parametrize(("tool", "reason"), HOSTED)
async def test_only_a_choice_of_openais_tool_is_refused(client: AsyncOpenAI, tool: Any, reason: str) -> None:
    now: Any = {"type": "function", "name": "now", "parameters": None, "strict": None}
    made = await client.responses.with_raw_response.create(model="fake-1", input="hi", tools=[now, tool])
    chat = await client.chat.completions.with_raw_response.create(
        model="fake-1", messages=[{"role": "user", "content": "hi"}], tools=[tool]
    )
    assert made.headers["X-Ebb-Ignored"] == chat.headers["X-Ebb-Ignored"] == f"tools.{tool['type']}"
    choice: Any = {"type": tool["type"]}
    with pytest.raises(openai.BadRequestError) as refused:
        await client.responses.create(model="fake-1", input="hi", tools=[now], tool_choice=choice)
    assert (refused.value.param, refused.value.code) == ("tool_choice.type", "unsupported")
    assert tool["type"] in refused.value.message
    assert reason in refused.value.message
