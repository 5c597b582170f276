"""Tools that OpenAI's servers would run, or that have calls of a form of their own, are refused by their type."""

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


@row("openai", "responses.create(tools=[{'type': 'web_search'}, ...])", "a tool that OpenAI's servers would run: "
     "`BadRequestError` that names its `type` and says what to do; so in chat completions")  # fmt: skip
@pytest.mark.parametrize(("tool", "reason"), HOSTED)
async def test_tool_of_openais_servers_is_refused(client: AsyncOpenAI, tool: Any, reason: str) -> None:
    now: Any = {"type": "function", "name": "now", "parameters": None, "strict": None}
    with pytest.raises(openai.BadRequestError) as refused:
        await client.responses.create(model="fake-1", input="hi", tools=[now, tool])
    assert (refused.value.param, refused.value.code) == ("tools[1].type", "unsupported")
    assert tool["type"] in refused.value.message
    assert reason in refused.value.message
    with pytest.raises(openai.BadRequestError) as refused:
        await client.chat.completions.create(model="fake-1", messages=[{"role": "user", "content": "hi"}], tools=[tool])
    assert refused.value.param == "tools[0].type"
    choice: Any = {"type": tool["type"]}
    with pytest.raises(openai.BadRequestError) as refused:
        await client.responses.create(model="fake-1", input="hi", tools=[now], tool_choice=choice)
    assert refused.value.param == "tool_choice.type"
    assert reason in refused.value.message
