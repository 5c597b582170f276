"""Tools and structured output through Anthropic's client, on the real engine with the default model."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anthropic
import jsonschema
import pytest
from anthropic import AsyncAnthropic
from anthropic.types import Message, RawMessageStreamEvent, ToolUseBlock

from engine.wiring.build import build_engine
from tests.integration.api_server import running_server
from tests.integration.compatibility import row
from tests.integration.engine_rig import engine_config

WEATHER = {
    "type": "object",
    "properties": {"city": {"enum": ["Paris", "Rome"]}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOLS: list[Any] = [
    {"name": "weather", "description": "Of a city", "input_schema": WEATHER, "cache_control": {"type": "ephemeral"}},
    {"name": "now", "type": "custom", "input_schema": {"type": "object", "additionalProperties": False}},
]
QUESTION: list[Any] = [{"role": "user", "content": "What is the weather in Paris?"}]


@pytest.fixture
async def client(shallow_model: Path, tmp_path: Path) -> AsyncIterator[AsyncAnthropic]:
    config = engine_config(shallow_model, tmp_path / "state", redis_url="off")
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    async with (
        running_server(tmp_path, engine) as server,
        AsyncAnthropic(base_url=server.url, api_key="none", max_retries=0) as client,
    ):
        yield client


def asked(**fields: Any) -> dict[str, Any]:
    sampling = {"temperature": 0}
    return {"model": "smollm2", "max_tokens": 200, "messages": QUESTION, "extra_body": sampling, **fields}


def calls_of(message: Message) -> list[tuple[str, object]]:
    return [(block.name, block.input) for block in message.content if isinstance(block, ToolUseBlock)]


@row("anthropic", "messages.create(output_config={'format': ...})", "JSON of the schema, compact")
@row("anthropic", "messages.count_tokens(tools=...)", "tools count")
@row("anthropic", "messages.create(messages=[..., answer, {'content': [tool_result, ...]}])", "the results reach the "
     "model; the KV of the answer that called is found again")  # fmt: skip
@row("anthropic", "messages.stream(tools=...)", "the same blocks, the input of each in `input_json_delta` as it is "
     "written")  # fmt: skip
@row("anthropic", "messages.create(tools=..., tool_choice=...)", "`tool_use` blocks whose input keeps to the schema; "
     "`auto`, `any`, `tool` and `none`, with `disable_parallel_tool_use`; the reason is `tool_use`")  # fmt: skip
async def test_tool_calls_and_results_round_trip(client: AsyncAnthropic) -> None:
    create, must = client.messages.create, {"type": "any"}
    first = await create(**asked(tools=TOOLS, tool_choice=must))
    assert first.stop_reason == "tool_use"
    assert {block.type for block in first.content} == {"tool_use"}
    for name, given in calls_of(first):
        jsonschema.validate(given, WEATHER if name == "weather" else TOOLS[1]["input_schema"])
    async with client.messages.stream(**asked(tools=TOOLS, tool_choice=must)) as stream:
        events = [event async for event in stream]
        whole = await stream.get_final_message()
    assert (calls_of(whole), whole.stop_reason) == (calls_of(first), "tool_use")
    check_blocks([event for event in events if event.type.startswith("content_block")])  # type: ignore[misc]
    await its_results_come_back(client, first)
    for choice, most in (({**must, "disable_parallel_tool_use": True}, 1), ({"type": "tool", "name": "now"}, 1)):
        single = await create(**asked(tools=TOOLS, tool_choice=choice))
        assert (len(calls_of(single)), single.stop_reason) == (most, "tool_use")
    assert calls_of(single) == [("now", {})]
    none = await create(**asked(tools=TOOLS, tool_choice={"type": "none"}, max_tokens=5))
    plain = await create(**asked(max_tokens=5))
    assert [block.type for block in none.content] == ["text"]
    assert none.content == plain.content
    schema = {"type": "json_schema", "schema": WEATHER}
    formed = await create(**asked(output_config={"format": schema}))
    jsonschema.validate(json.loads(formed.content[0].to_dict()["text"]), WEATHER)
    await refusals(client)


def check_blocks(events: list[RawMessageStreamEvent]) -> None:
    """Check that each block is one start, some deltas and one stop, before the next block begins."""
    kinds = [(event.type, getattr(event, "index", None)) for event in events]
    assert len(kinds) > len(set(kinds))
    names = [f"content_block_{part}" for part in ("start", "delta", "stop")]
    blocks = max(index for _, index in kinds if index is not None) + 1
    assert list(dict.fromkeys(kinds)) == [(name, index) for index in range(blocks) for name in names]


async def its_results_come_back(client: AsyncAnthropic, first: Message) -> None:
    uses = [block for block in first.content if isinstance(block, ToolUseBlock)]
    results: list[Any] = [{"type": "tool_result", "tool_use_id": use.id, "content": "21 degrees"} for use in uses[:-1]]
    last = {"type": "tool_result", "tool_use_id": uses[-1].id, "content": [{"type": "text", "text": "no idea"}]}
    sent = [*QUESTION, {"role": "assistant", "content": first.content}]
    history = [*sent, {"role": "user", "content": [*results, {**last, "is_error": True}]}]
    fields = asked(tools=TOOLS, messages=history, max_tokens=5)
    second = await client.messages.create(**fields)
    counted = await client.messages.count_tokens(model="smollm2", messages=history, tools=TOOLS)
    without = await client.messages.count_tokens(model="smollm2", messages=history)
    cached = second.usage.cache_read_input_tokens or 0
    assert second.usage.input_tokens + cached == counted.input_tokens > without.input_tokens
    # KV is never computed for the last token of an answer.
    prompt = first.usage.input_tokens + (first.usage.cache_read_input_tokens or 0)
    assert cached == prompt + first.usage.output_tokens - 1


async def refusals(client: AsyncAnthropic) -> None:
    result = {"type": "tool_result", "tool_use_id": "toolu_x", "content": "1"}
    called = {"type": "tool_use", "id": "toolu_x", "name": "now", "input": []}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"tools": [{"type": "web_searches", "name": "web_search"}]}, "tools[0].type"),
        ({"tools": TOOLS, "tool_choice": {"type": "tool", "name": "nothing"}}, "tool_choice"),
        ({"tool_choice": {"type": "any"}}, "tool_choice"),
        ({"messages": [{"role": "user", "content": [called]}]}, "messages[0].content[0].input"),
        ({"messages": [{"role": "assistant", "content": [result]}, *QUESTION]}, "messages[0].content[0].type"),
        ({"tools": [{"name": "f", "input_schema": {"type": "strange"}}], "tool_choice": {"type": "any"}}, "tools"),
        ({"output_config": {"format": {"type": "json_schema", "schema": {"type": "x"}}}}, "output_config.format"),
    ]
    for fields, name in wrong:
        with pytest.raises(anthropic.BadRequestError) as caught:
            await client.messages.create(**asked(**fields))
        assert name in caught.value.message


async def test_loading_a_deferred_tool_computes_only_what_is_new(client: AsyncAnthropic) -> None:
    deferred = {"name": "rain", "input_schema": WEATHER, "defer_loading": True}
    first = await client.messages.create(**asked(tools=TOOLS, tool_choice={"type": "tool", "name": "now"}))
    [search] = first.content
    found = {"type": "tool_reference", "tool_name": "rain"}
    result = {"type": "tool_result", "tool_use_id": search.to_dict()["id"], "content": [found]}
    sent = [*QUESTION, {"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    chosen = {"type": "tool", "name": "rain"}
    second = await client.messages.create(**asked(tools=[deferred, *TOOLS], messages=sent, tool_choice=chosen))
    [(name, given)] = calls_of(second)
    jsonschema.validate(given, WEATHER)
    assert name == "rain"
    # KV is never computed for the last token of an answer.
    assert second.usage.cache_read_input_tokens == first.usage.input_tokens + first.usage.output_tokens - 1


@row("anthropic", "messages.create(tools=..., max_tokens=...)", "a cut call is text, and in a stream has the part of "
     "its input that can be read; the reason is `max_tokens`; it can be sent back")  # fmt: skip
async def test_cut_call_is_text_unless_it_was_streamed(client: AsyncAnthropic) -> None:
    must: dict[str, Any] = {"tools": TOOLS, "tool_choice": {"type": "tool", "name": "weather"}}
    whole = await client.messages.create(**asked(**must))
    told = list[object]()
    for limit in range(2, whole.usage.output_tokens - 1, 3):
        cut = await client.messages.create(**asked(**must, max_tokens=limit))
        async with client.messages.stream(**asked(**must, max_tokens=limit)) as stream:
            streamed = await stream.get_final_message()
        assert (cut.stop_reason, streamed.stop_reason) == ("max_tokens", "max_tokens")
        for _, given in calls_of(cut):
            jsonschema.validate(given, WEATHER)
        text = "".join(block.to_dict()["text"] for block in cut.content if block.type == "text")
        assert text.startswith("<tool_call>") == (calls_of(streamed) != calls_of(cut))
        told += calls_of(streamed)
        for answer in (cut, streamed):
            sent: list[Any] = [*QUESTION, {"role": "assistant", "content": answer.content}, *QUESTION]
            await client.messages.create(**asked(tools=TOOLS, messages=sent, max_tokens=2))
    assert ("weather", {}) in told
