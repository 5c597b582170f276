"""Causes of divergences from an earlier prompt, with the official clients."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from anthropic.types import Message
from openai import AsyncOpenAI
from openai.types.responses import Response

from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer, running_server

Api = RunningServer[ReplayEngine]

LONG = "Tell me of rivers. " * 40
SECOND = "And of the sea. " * 40


def tools(*names: str) -> list[Any]:
    return [{"name": name, "input_schema": {"type": "object"}} for name in names]


def functions(*names: str) -> list[Any]:
    return [{"type": "function", "name": name, "parameters": {"type": "object"}, "strict": False} for name in names]


def client_of(url: str) -> AsyncAnthropic:
    return AsyncAnthropic(base_url=url, api_key="none", max_retries=0)


@pytest.fixture
async def claude(api: Api) -> AsyncIterator[AsyncAnthropic]:
    async with client_of(api.url) as client:
        yield client


@pytest.fixture
async def openai(api: Api) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{api.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def turns(*texts: str) -> list[Any]:
    """Build messages of the user and the assistant in turn."""
    return [{"role": ("user", "assistant")[index % 2], "content": text} for index, text in enumerate(texts)]


async def said(claude: AsyncAnthropic, previous: str | None, **fields: Any) -> Message:
    diagnostics: Any = {"previous_message_id": previous}
    made: Message = await claude.messages.create(model="fake-1", max_tokens=8, diagnostics=diagnostics, **fields)
    return made


@pytest.mark.parametrize(
    ("now", "kind"),
    [
        ({}, None),
        ({"messages": turns(LONG, "Yes.", SECOND, "No.", "Why?")}, None),
        ({"messages": turns("Other. " + LONG, "Yes.", SECOND)}, "messages_changed"),
        ({"messages": turns(LONG)}, "messages_changed"),
        ({"tools": tools("time", "weather")}, None),
        ({"tools": tools("weather")}, "tools_changed"),
        ({"tools": [], "system": "Rhyme."}, "tools_changed"),
        ({"tool_choice": {"type": "none"}}, "unavailable"),
    ],
)
async def test_message_tells_why_it_diverges(claude: AsyncAnthropic, now: dict[str, Any], kind: str | None) -> None:
    before: dict[str, Any] = {"messages": turns(LONG, "Yes.", SECOND), "tools": tools("weather", "time")}
    first = await said(claude, None, **before)
    assert first.diagnostics is None
    second = await said(claude, first.id, **before | now)
    diagnostics: Any = {"previous_message_id": first.id}
    async with claude.messages.stream(model="fake-1", max_tokens=8, diagnostics=diagnostics, **before | now) as stream:
        starts = [event.message async for event in stream if event.type == "message_start"]
    assert starts[0].diagnostics == second.diagnostics
    if kind is None:
        assert second.diagnostics is None
        return
    assert second.diagnostics is not None
    reason: Any = second.diagnostics.cache_miss_reason
    assert reason.type == kind
    if kind != "unavailable":
        asked = first.usage.input_tokens + (first.usage.cache_read_input_tokens or 0)
        found = second.usage.cache_read_input_tokens or 0
        assert abs(asked - reason.cache_missed_input_tokens - found) <= 64


async def test_message_of_another_request_is_not_found(claude: AsyncAnthropic) -> None:
    silent = await claude.messages.create(model="fake-1", max_tokens=8, messages=turns(LONG))
    assert silent.diagnostics is None
    for unknown in (silent.id, "msg_other"):
        told = await said(claude, unknown, messages=turns(LONG))
        assert told.diagnostics is not None
        assert told.diagnostics.to_dict() == {"cache_miss_reason": {"type": "previous_message_not_found"}}


async def compared(openai: AsyncOpenAI, previous: str, **fields: Any) -> dict[str, Any]:
    made: Response = await openai.responses.create(
        model="fake-1", prompt_cache_options={"comparison_response_id": previous}, **fields
    )
    assert made.prompt_cache_diagnostics is not None
    if made.store:  # type: ignore[attr-defined]
        stored = await openai.responses.retrieve(made.id)
        assert stored.prompt_cache_diagnostics == made.prompt_cache_diagnostics
    return made.prompt_cache_diagnostics.to_dict()


@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize(
    ("now", "reason"),
    [
        ({}, None),
        ({"text": {"verbosity": "low"}, "service_tier": "flex", "prompt_cache_key": "k"}, None),
        ({"input": turns("Other. " + LONG, "Yes.", SECOND)}, "input_changed"),
        ({"tools": functions("weather")}, "tools_changed"),
    ],
)
async def test_response_tells_why_it_diverges(
    openai: AsyncOpenAI, store: bool, now: dict[str, Any], reason: str | None
) -> None:
    before: dict[str, Any] = {"input": turns(LONG, "Yes.", SECOND), "tools": functions("weather", "time")}
    first = await openai.responses.create(model="fake-1", **before, store=store)
    assert first.prompt_cache_diagnostics is None
    told = await compared(openai, first.id, **before | now, store=store)
    if reason is None:
        assert told == {"type": "cache_hit"}
        return
    assert (told["type"], told["reason"]) == ("cache_miss", reason)
    assert first.usage is not None
    assert told["cache_missed_tokens"] + told["comparison_reusable_tokens"] == first.usage.input_tokens


async def test_response_that_continues_another_hits(openai: AsyncOpenAI) -> None:
    first = await openai.responses.create(model="fake-1", input=LONG, instructions="Rhyme.")
    fields: dict[str, Any] = {"input": SECOND, "previous_response_id": first.id}
    assert await compared(openai, first.id, **fields, instructions="Rhyme.") == {"type": "cache_hit"}
    told = await compared(openai, first.id, **fields, instructions="Be brief.")
    assert told["reason"] == "input_changed"
    assert told["comparison_reusable_tokens"] == 0
    assert await compared(openai, "resp_other", input=LONG) == {"type": "comparison_response_not_found"}


async def test_compaction_is_the_named_cause(openai: AsyncOpenAI, api: Api) -> None:
    first = await openai.responses.create(model="fake-1", input=turns(LONG, "Yes.", SECOND))
    compacted = await openai.responses.compact(model="fake-1", previous_response_id=first.id)
    await api.services.model.next_prefixes.join()
    # The package has no type for the user's messages among the items, as it warns.
    window = json.loads(compacted.to_json(warnings=False))["output"]
    told = await compared(openai, first.id, input=[*window, *turns("Go on.")])
    assert told["reason"] == "context_compacted"
    assert told["comparison_reusable_tokens"] >= len(LONG) - 64


async def test_stream_tells_why_it_diverges(openai: AsyncOpenAI) -> None:
    first = await openai.responses.create(model="fake-1", input=LONG)
    stream = await openai.responses.create(
        model="fake-1", input=SECOND, prompt_cache_options={"comparison_response_id": first.id}, stream=True
    )
    ends = [event.response async for event in stream if event.type in ("response.created", "response.completed")]
    for response in ends:
        assert isinstance(response, Response)
        assert response.prompt_cache_diagnostics is not None
        assert response.prompt_cache_diagnostics.type == "cache_miss"


async def test_prompt_of_a_former_server_is_compared(tmp_path: Path) -> None:
    async with running_server(tmp_path, ReplayEngine()) as server, client_of(server.url) as claude:
        first = await said(claude, None, messages=turns(LONG))
    async with running_server(tmp_path, ReplayEngine()) as server, client_of(server.url) as claude:
        assert (await said(claude, first.id, messages=turns(LONG))).diagnostics is None
        other = await said(claude, first.id, messages=turns(SECOND))
    assert other.diagnostics is not None
