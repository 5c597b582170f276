"""Tools and structured output through OpenAI's Responses client, on the real engine with the default model."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import jsonschema
import openai
import pytest
from openai import AsyncOpenAI
from openai.types.responses import Response, ResponseFunctionToolCall, ResponseStreamEvent

from engine.loop.async_llm import AsyncLLMEngine
from engine.wiring.build import build_engine
from tests.integration.api_server import RunningServer, running_server
from tests.integration.compatibility import row
from tests.integration.engine_rig import engine_config
from tests.integration.real_server import settled

WEATHER = {
    "type": "object",
    "properties": {"city": {"enum": ["Paris", "Rome"]}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOLS: list[Any] = [
    {"type": "function", "name": "weather", "description": "Of a city", "parameters": WEATHER, "strict": True},
    {"type": "function", "name": "now", "parameters": None, "strict": None},
]
QUESTION = "What is the weather in Paris?"
MUST: dict[str, Any] = {"tools": TOOLS, "tool_choice": "required"}
SHORT: dict[str, Any] = {"tools": TOOLS, "max_output_tokens": 5}
"""Fields of answers of which nothing is read. A shallow model rarely ends one."""

Api = RunningServer[AsyncLLMEngine]


@pytest.fixture
async def api(shallow_model: Path, tmp_path: Path) -> AsyncIterator[Api]:
    config = engine_config(shallow_model, tmp_path / "state", redis_url="off")
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    async with running_server(tmp_path, engine) as server:
        yield server


def asked(**fields: Any) -> dict[str, Any]:
    return {"model": "smollm2", "input": QUESTION, "max_output_tokens": 200, "temperature": 0, **fields}


def calls_of(response: Response) -> list[ResponseFunctionToolCall]:
    return [item for item in response.output if isinstance(item, ResponseFunctionToolCall)]


def said_by(response: Response) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in calls_of(response)]


def results_of(response: Response) -> list[Any]:
    output = [{"type": "input_text", "text": "21 degrees"}]
    return [{"type": "function_call_output", "call_id": each.call_id, "output": output} for each in calls_of(response)]


def cached(response: Response) -> int:
    assert response.usage is not None
    return response.usage.input_tokens_details.cached_tokens


def computed_before(response: Response) -> int:
    # KV is never computed for the last token of an answer.
    assert response.usage is not None
    return response.usage.total_tokens - 1


@row("openai", "responses.create(tools=..., stream=True)", "`response.function_call_arguments.delta` and `.done` of "
     "each call; any event can be gone on from")  # fmt: skip
@row("openai", "responses.create(input=[function_call_output, ...], previous_response_id=...)", "the results reach the "
     "model; all before them is cached, also in a `conversation` and with `store=False`")  # fmt: skip
@row("openai", "responses.create(tools=..., tool_choice=...)", "items `function_call` whose arguments keep to the "
     "schema; `none`, `auto`, `required` or a function, with `parallel_tool_calls`")  # fmt: skip
async def test_function_calls_and_results_round_trip(api: Api) -> None:
    async with AsyncOpenAI(base_url=f"{api.url}/v1", api_key="none", max_retries=0) as client:
        create = client.responses.create
        first = await create(**asked(**MUST))
        assert (first.status, first.output_text, first.tool_choice) == ("completed", "", "required")
        assert [item.type for item in first.output] == ["function_call"] * len(first.output)
        for call in calls_of(first):
            jsonschema.validate(json.loads(call.arguments), WEATHER if call.name == "weather" else {})
        assert await client.responses.retrieve(first.id) == first
        Response.model_validate(first.to_dict(), strict=False)
        await settled(api.engine)
        second = await create(**asked(input=results_of(first), previous_response_id=first.id, **SHORT))
        assert cached(second) == computed_before(first)
        await settled(api.engine)
        third = await create(**asked(input="And in Rome?", previous_response_id=second.id, **SHORT))
        assert cached(third) >= computed_before(second)
        listed = [item async for item in client.responses.input_items.list(third.id, order="asc")]
        calls = len(calls_of(first))
        kinds = ["message", *["function_call"] * calls, *["function_call_output"] * calls]
        assert [item.type for item in listed][: len(kinds)] == kinds
        named = await create(**asked(tools=TOOLS, tool_choice={"type": "function", "name": "now"}))
        assert said_by(named) == [("now", "{}")]
        single = await create(**asked(**MUST, parallel_tool_calls=False))
        assert (len(calls_of(single)), single.parallel_tool_calls) == (1, False)
        none = await create(**asked(**SHORT, tool_choice="none"))
        assert [item.type for item in none.output] == ["message"]
        await its_stream_tells_the_same(client, first)
        await the_client_may_keep_the_history(api, client, first)
        await conversations_keep_calls(api, client)


async def its_stream_tells_the_same(client: AsyncOpenAI, whole: Response) -> None:
    events = [event async for event in await client.responses.create(**asked(**MUST), background=True, stream=True)]
    for event in events:
        type(event).model_validate(event.to_dict())
    numbers = [event.sequence_number for event in events]
    assert numbers == sorted(set(numbers))
    kinds = [event.type for event in events]
    once = [kind for at, kind in enumerate(kinds) if not kind.endswith(".delta") or kinds[at - 1] != kind]
    each = [
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
    ]
    begun = ["response.created", "response.in_progress"]
    assert once == [*begun, *each * len(calls_of(whole)), "response.completed"]
    last = events[-1]
    assert last.type == "response.completed"
    assert said_by(last.response) == said_by(whole)
    told = [event for event in events if event.type == "response.function_call_arguments.done"]
    assert [(event.item_id, event.arguments) for event in told] == [
        (call.id, call.arguments) for call in calls_of(last.response)
    ]
    for index in range(0, len(events), 1 + len(events) // 6):
        rest = await client.responses.retrieve(last.response.id, stream=True, starting_after=numbers[index])
        assert [event async for event in rest] == events[index + 1 :]
    async with client.responses.stream(**asked(**MUST)) as stream:
        assert said_by(await stream.get_final_response()) == said_by(whole)


async def the_client_may_keep_the_history(api: Api, client: AsyncOpenAI, like: Response) -> None:
    history: list[Any] = [{"role": "user", "content": QUESTION}]
    first = await client.responses.create(**asked(**MUST, input=history, store=False))
    assert said_by(first) == said_by(like)
    await settled(api.engine)
    history += [*first.output, *results_of(first)]
    second = await client.responses.create(**asked(input=history, **SHORT, store=False))
    assert cached(second) >= computed_before(first)


async def conversations_keep_calls(api: Api, client: AsyncOpenAI) -> None:
    call: Any = {"type": "function_call", "call_id": "call_mine", "name": "now", "arguments": "{}"}
    result: Any = {"type": "function_call_output", "call_id": "call_mine", "output": "noon"}
    made = await client.conversations.create(items=[{"role": "user", "content": "When?"}, call, result])
    first = await client.responses.create(**asked(**MUST, conversation=made.id))
    await settled(api.engine)
    second = await client.responses.create(**asked(input=results_of(first), conversation=made.id, **SHORT))
    assert cached(second) == computed_before(first)
    items = [item async for item in client.conversations.items.list(made.id, order="asc")]
    assert [item.type for item in items][:4] == ["message", "function_call", "function_call_output", "message"]
    assert items[1].to_dict()["call_id"] == items[2].to_dict()["call_id"] == "call_mine"
    call_item = calls_of(first)[0]
    assert call_item.id is not None
    found = await client.conversations.items.retrieve(call_item.id, conversation_id=made.id)
    assert found.to_dict()["call_id"] == call_item.call_id
    await client.conversations.items.delete(call_item.id, conversation_id=made.id)
    left = {item.id async for item in client.conversations.items.list(made.id)}
    assert not left & {each.id for each in calls_of(first)}


@row("openai", "responses.create(text={'format': ...})", "JSON, or JSON of the schema, compact, also streamed")
async def test_output_text_follows_requested_format(api: Api) -> None:
    schema = {"type": "json_schema", "name": "place", "schema": WEATHER, "strict": True}
    async with AsyncOpenAI(base_url=f"{api.url}/v1", api_key="none", max_retries=0) as client:
        create = client.responses.create
        formed = await create(**asked(text={"format": schema}))
        jsonschema.validate(json.loads(formed.output_text), WEATHER)
        assert formed.text is not None
        assert formed.text.format is not None
        assert formed.text.format.to_dict() == schema
        events = [event async for event in await create(**asked(text={"format": schema}), stream=True)]
        assert text_in(events) == formed.output_text
        some = await create(**asked(text={"format": {"type": "json_object"}}, max_output_tokens=5))
        assert some.output_text.startswith("{")
        called = await create(**asked(**MUST, text={"format": schema}))
        assert (called.output_text, bool(calls_of(called))) == ("", True), "the format is that of the text"
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"text": {"format": {**schema, "schema": {"type": "strange"}}}}, "text.format"),
            ({"tools": TOOLS, "tool_choice": {"type": "function", "name": "nothing"}}, "tool_choice.name"),
            ({"tools": [{**TOOLS[0], "parameters": {"type": "x"}}], "tool_choice": "required"}, "tools"),
        ]
        for fields, param in wrong:
            with pytest.raises(openai.BadRequestError) as caught:
                await create(**asked(**fields))
            assert caught.value.param == param


def text_in(events: list[ResponseStreamEvent]) -> str:
    return "".join(event.delta for event in events if event.type == "response.output_text.delta")


@row("openai", "responses.create(tools=..., max_output_tokens=...)", "a cut call is an item `function_call` with the "
     "status `incomplete` and the beginning of its arguments, also streamed; its result can follow")  # fmt: skip
async def test_cut_function_call_is_incomplete(api: Api) -> None:
    must: dict[str, Any] = {"tools": TOOLS, "tool_choice": {"type": "function", "name": "weather"}}
    async with AsyncOpenAI(base_url=f"{api.url}/v1", api_key="none", max_retries=0) as client:
        whole = await client.responses.create(**asked(**must))
        [call] = calls_of(whole)
        assert whole.usage is not None
        told = set[str]()
        for limit in range(2, whole.usage.output_tokens - 1, 6):
            cut = await client.responses.create(**asked(**must, max_output_tokens=limit))
            assert (cut.status, cut.output_text) == ("incomplete", "")
            stream = await client.responses.create(**asked(**must, max_output_tokens=limit), stream=True)
            last = [event async for event in stream][-1]
            assert last.type == "response.incomplete"
            assert said_by(last.response) == said_by(cut)
            for each in calls_of(cut):
                assert call.arguments.startswith(each.arguments)
                assert each.status == ("completed" if each.arguments == call.arguments else "incomplete")
                told.add(each.arguments)
        assert len(told) > 1
        after = await client.responses.create(**asked(input=results_of(cut), previous_response_id=cut.id, **SHORT))
        assert after.usage is not None
