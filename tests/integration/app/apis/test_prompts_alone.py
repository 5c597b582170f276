"""Requests that compute a prompt and generate nothing, with the official clients."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from openai.types.responses import Response

from engine.testing.replay_engine import ReplayEngine
from engine.wiring.build import build_engine
from tests.integration.api_server import RunningServer, running_server
from tests.integration.engine_rig import engine_config
from tests.integration.responses_rig import NUM_TOKENS, WHOLE_ANSWER, all_of, prompt
from tests.tiny_openpangu import ANSWER, write_thinking_openpangu

Api = RunningServer[ReplayEngine]

ASKED: dict[str, Any] = {"model": "fake-1", "instructions": "Rhyme."}
PREWARM: Any = {"prewarm": True, "ttl": "30m"}
TOOLS: list[Any] = [{"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": False}]
HI: Any = [{"role": "user", "content": "hi"}]
SAID: dict[str, Any] = {"model": "fake-1", "messages": HI}
CLAUDE_TOOLS: list[Any] = [{"name": "weather", "input_schema": {"type": "object"}}]


def openai_at(url: str) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)


@pytest.fixture
async def openai(api: Api) -> AsyncIterator[AsyncOpenAI]:
    async with openai_at(api.url) as client:
        yield client


@pytest.fixture
async def claude(api: Api) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(base_url=api.url, api_key="none", max_retries=0) as client:
        yield client


def cached(response: Response) -> tuple[int, int]:
    """Return the prompt tokens that were cached, and all prompt tokens."""
    assert response.usage is not None
    return response.usage.input_tokens_details.cached_tokens, response.usage.input_tokens


@pytest.mark.parametrize(
    "asking", [{"prompt_cache_options": PREWARM}, {"extra_body": {"generate": False, "min_tokens": 3}}]
)
async def test_prewarmed_response_is_continued(openai: AsyncOpenAI, api: Api, asking: dict[str, Any]) -> None:
    fields: dict[str, Any] = {"model": "fake-1", "tools": TOOLS}
    warmed = await openai.responses.create(**fields, input="one", tool_choice="required", **asking)
    assert (warmed.status, warmed.output, warmed.incomplete_details) == ("completed", [], None)
    assert warmed.usage is not None
    assert (warmed.usage.output_tokens, warmed.usage.total_tokens) == (0, warmed.usage.input_tokens)
    assert api.engine.requests[0].produced == []
    assert await openai.responses.retrieve(warmed.id) == warmed
    events = await all_of(await openai.responses.retrieve(warmed.id, stream=True))
    assert [event.type for event in events] == ["response.created", "response.in_progress", "response.completed"]
    following = await openai.responses.create(**fields, input="two", previous_response_id=warmed.id)
    assert prompt(api, 1).endswith("}]><user\none><user\ntwo><assistant\n")
    assert cached(following)[0] >= warmed.usage.input_tokens - len("<assistant\n")
    items = [item async for item in openai.responses.input_items.list(following.id, order="asc")]
    assert [item.content[0].text for item in items] == ["one", "two"]  # type: ignore[union-attr, index]


@pytest.mark.parametrize("store", [True, False])
async def test_stream_of_a_prewarmed_response_has_no_item(openai: AsyncOpenAI, store: bool) -> None:
    stream = await openai.responses.create(**ASKED, input="one", prompt_cache_options=PREWARM, stream=True, store=store)
    events = await all_of(stream)
    assert [event.type for event in events] == ["response.created", "response.in_progress", "response.completed"]
    again = await openai.responses.create(**ASKED, input="one")
    assert again.output_text == WHOLE_ANSWER
    assert cached(again) == (cached(again)[1],) * 2


async def test_prompt_alone_between_two_answers_keeps_their_exact_ids(openai: AsyncOpenAI, api: Api) -> None:
    first = await openai.responses.create(**ASKED, input="one")
    warmed = await openai.responses.create(
        **ASKED, input="two", prompt_cache_options=PREWARM, previous_response_id=first.id
    )
    again = await openai.responses.create(
        **ASKED, input="three", prompt_cache_options=PREWARM, previous_response_id=warmed.id
    )
    last = await openai.responses.create(**ASKED, input="four", previous_response_id=again.id)
    following = await openai.responses.create(**ASKED, input="five", previous_response_id=last.id)
    said = f"<system\nRhyme.><user\none><assistant\n{WHOLE_ANSWER}><user\ntwo><user\nthree><user\nfour><assistant\n"
    assert prompt(api, 3) == said
    one, _, before, final, end = [(*each.prompt, *each.produced) for each in api.engine.requests]
    assert final[: len(one)] == one
    assert cached(last)[0] == len(before) - len("<assistant\n") + 1
    assert cached(following)[0] == len(final) <= len(end)


async def test_prompt_alone_changes_no_conversation(openai: AsyncOpenAI, api: Api) -> None:
    conversation = await openai.conversations.create()
    asked: list[tuple[Any, str]] = [({}, "one"), (PREWARM, "two"), ({}, "three")]
    for options, text in asked:
        made = await openai.responses.create(
            model="fake-1", input=text, conversation=conversation.id, prompt_cache_options=options
        )
    assert prompt(api, 2) == f"<user\none><assistant\n{WHOLE_ANSWER}><user\nthree><assistant\n"
    assert made.usage is not None
    assert made.usage.output_tokens == NUM_TOKENS


async def test_deleted_prewarmed_response_leaves_no_kv(openai: AsyncOpenAI, api: Api) -> None:
    warmed = await openai.responses.create(**ASKED, input="one", prompt_cache_options=PREWARM)
    await openai.responses.delete(warmed.id)
    [trail] = await api.engine.until_erased(1)
    ids = api.engine.requests[0].prompt
    assert (tuple(trail.token_ids), tuple(trail.ends)) == (ids, (len(ids),))


@pytest.mark.parametrize("fields", [{}, {"tools": CLAUDE_TOOLS, "tool_choice": {"type": "any"}}])
async def test_message_of_no_tokens_computes_its_prompt(claude: AsyncAnthropic, fields: dict[str, Any]) -> None:
    warmed = await claude.messages.create(**SAID, **fields, max_tokens=0)
    assert (warmed.content, warmed.stop_reason, warmed.usage.output_tokens) == ([], "max_tokens", 0)
    async with claude.messages.stream(**SAID, **fields, max_tokens=0) as stream:
        kinds = [event.type async for event in stream]
        assert (await stream.get_final_message()).content == []
    assert kinds == ["message_start", "message_delta", "message_stop"]
    again = await claude.messages.create(**SAID, **fields, max_tokens=10)
    assert (again.usage.cache_read_input_tokens, again.usage.input_tokens) == (warmed.usage.input_tokens, 0)


SEARCH: Any = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}


async def test_message_of_no_tokens_searches_for_no_tool(claude: AsyncAnthropic) -> None:
    tools: Any = [SEARCH, {**CLAUDE_TOOLS[0], "defer_loading": True}]
    warmed = await claude.messages.create(**SAID, tools=tools, max_tokens=0)
    assert (warmed.content, warmed.stop_reason) == ([], "max_tokens")


async def test_prompt_alone_that_a_restart_interrupts_ends_the_same(tmp_path: Path) -> None:
    async with running_server(tmp_path, ReplayEngine()) as server, openai_at(server.url) as client:
        server.engine.hold()
        begun = await client.responses.create(**ASKED, input="one", prompt_cache_options=PREWARM, background=True)
        assert begun.status == "in_progress"
    async with running_server(tmp_path, ReplayEngine()) as server, openai_at(server.url) as client:
        events = await all_of(await client.responses.retrieve(begun.id, stream=True))
        assert [event.type for event in events] == ["response.created", "response.in_progress", "response.completed"]
        ended = await client.responses.retrieve(begun.id)
    assert (ended.status, ended.output) == ("completed", [])


async def test_model_that_thinks_is_prewarmed_by_both(tmp_path: Path) -> None:
    folder = write_thinking_openpangu(tmp_path / "model")
    engine = await asyncio.to_thread(build_engine, engine_config(folder, tmp_path / "state"), lambda _: None)
    async with (
        running_server(tmp_path, engine) as server,
        openai_at(server.url) as openai,
        AsyncAnthropic(base_url=server.url, api_key="none", max_retries=0) as claude,
    ):
        asked: dict[str, Any] = {"model": "smollm2", "input": "Hi", "tools": TOOLS}
        warmed = await openai.responses.create(**asked, prompt_cache_options=PREWARM)
        assert (warmed.output, warmed.status) == ([], "completed")
        answer = await openai.responses.create(**asked)
        assert answer.output_text == ANSWER
        assert cached(answer)[0] == cached(answer)[1] - 1
        said: dict[str, Any] = {
            "model": "smollm2",
            "messages": HI,
            "thinking": {"type": "enabled", "budget_tokens": 1024},
        }
        silent = await claude.messages.create(**said, max_tokens=0)
        assert (silent.content, silent.usage.output_tokens) == ([], 0)
        spoken = await claude.messages.create(**said, max_tokens=2000)
        assert [block.type for block in spoken.content] == ["thinking", "text"]
        assert spoken.usage.input_tokens == 1
