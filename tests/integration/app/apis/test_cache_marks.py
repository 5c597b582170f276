"""Marks of clients for caching, from each API to the engine."""

from typing import Any

import aiohttp
import pytest
from openai import AsyncOpenAI

from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer

Api = RunningServer[ReplayEngine]
KEY = {"prompt_cache_key": "conversation-1"}
ASKED: dict[str, Any] = {"model": "fake-1", "messages": [{"role": "user", "content": "hi"}]}


@pytest.mark.parametrize("retention", [{}, {"prompt_cache_retention": "24h"}])
async def test_key_marks_whole_prompt_in_each_of_openais_apis(api: Api, retention: dict[str, Any]) -> None:
    async with AsyncOpenAI(base_url=f"{api.url}/v1", api_key="none", max_retries=0) as client:
        for fields in (retention, {**KEY, **retention}):
            await client.chat.completions.create(**ASKED, **fields)
            await client.chat.completions.create(**ASKED, n=2, **fields)
            await client.completions.create(model="fake-1", prompt="hi", max_tokens=5, extra_body=fields)
            await client.responses.create(model="fake-1", input="hi", **fields)
    # The fake engine makes two requests of two answers, and the second one has no marks itself.
    unmarked, marked = api.engine.requests[:5], api.engine.requests[5:]
    assert [request.num_marked for request in unmarked] == [0] * 5
    assert [request.num_marked for request in marked] == [
        0 if index == 2 else len(request.prompt) for index, request in enumerate(marked)
    ]


@pytest.mark.parametrize(("retention", "named"), [("in_memory", "prompt_cache_retention"), ("24h", None)])
async def test_retention_in_memory_is_named_as_ignored(api: Api, retention: str, named: str | None) -> None:
    fields: dict[str, Any] = {"model": "fake-1", "prompt_cache_retention": retention}
    asked = {"/chat/completions": ASKED, "/completions": {"prompt": "hi"}, "/responses": {"input": "hi"}}
    async with aiohttp.ClientSession() as session:
        for path, body in asked.items():
            async with session.post(f"{api.url}/v1{path}", json={**body, **fields}) as response:
                assert (response.status, response.headers.get("X-Ebb-Ignored")) == (200, named), path


async def test_gateways_mark_in_a_chat_covers_the_prompt_up_to_it(api: Api) -> None:
    part = {"type": "text", "text": "Be brief, friendly and exact.", "cache_control": {"type": "ephemeral"}}
    sent: Any = [{"role": "system", "content": [part]}, {"role": "user", "content": "What is the sea? " * 9}]
    async with AsyncOpenAI(base_url=f"{api.url}/v1", api_key="none", max_retries=0) as client:
        await client.chat.completions.create(model="fake-1", messages=sent)
    [request] = api.engine.requests
    assert 0 < request.num_marked < len(request.prompt) / 2
