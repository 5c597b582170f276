"""Custom tools in chat completions and Responses with the `openai` package."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI
from openai.types.responses import Response, ResponseCustomToolCall

from engine.testing.byte_tokenizer import text_of
from engine.testing.replay_engine import ReplayEngine
from engine.testing.script import Said
from engine.wiring.build import build_engine
from tests.integration.api_server import RunningServer, running_server
from tests.integration.compatibility import row
from tests.integration.engine_rig import engine_config
from tests.integration.real_server import settled

CODE = 'print("hi")\n# 10 \\ 2'
CALL = f"<tool_call>\n{json.dumps({'name': 'run', 'arguments': {'input': CODE}})}\n</tool_call>"
CUT = CALL.index("hi")
TIME = {"syntax": "regex", "definition": "(0[0-9]|1[0-2]):[0-5][0-9] (am|pm)"}
LARK = {"syntax": "lark", "definition": 'start: "a"+'}
RUN: Any = {"type": "custom", "name": "run", "description": "Runs Python"}
ALARM: Any = {"type": "custom", "name": "alarm", "format": {"type": "grammar", **TIME}}
NOW: Any = {"type": "function", "name": "now", "parameters": None, "strict": None}
CHAT_RUN: Any = {"type": "custom", "custom": {"name": "run", "description": "Runs Python"}}
CHAT_ALARM: Any = {"type": "custom", "custom": {"name": "alarm", "format": {"type": "grammar", "grammar": TIME}}}
CHAT_NOW: Any = {"type": "function", "function": {"name": "now"}}
QUESTION: Any = {"role": "user", "content": "Wake me at seven."}

Api = RunningServer[ReplayEngine]


@pytest.fixture
async def calling(tmp_path: Path) -> AsyncIterator[Api]:
    async with running_server(tmp_path, ReplayEngine(Said(CALL))) as server:
        yield server


@pytest.fixture
async def gpt(calling: Api) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{calling.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def calls_of(response: Response) -> list[ResponseCustomToolCall]:
    return [item for item in response.output if isinstance(item, ResponseCustomToolCall)]


@row("openai", "responses.create(input=[custom_tool_call_output, ...], previous_response_id=...)", "the result reaches "
     "the model, also with the call sent back as `custom_tool_call`")  # fmt: skip
@row("openai", "responses.create(tools=[{'type': 'custom', ...}])", "an item `custom_tool_call` whose `input` is one "
     "text; a cut one is `incomplete`")  # fmt: skip
async def test_custom_tool_is_called_with_one_text(calling: Api, gpt: AsyncOpenAI) -> None:
    made = await gpt.responses.create(model="fake-1", input="Run it.", tools=[RUN, NOW])
    [call] = calls_of(made)
    assert (call.name, call.input, call.to_dict()["status"]) == ("run", CODE, "completed")
    assert await gpt.responses.retrieve(made.id) == made
    Response.model_validate(made.to_dict(), strict=False)
    [tool, _] = made.tools
    assert tool.to_dict() == {**RUN, "format": {"type": "text"}}
    said = text_of(calling.engine.requests[0].prompt)
    assert json.dumps({"type": "object", "properties": {"input": {"type": "string"}}})[:-1] in said
    result: Any = {"type": "custom_tool_call_output", "call_id": call.call_id, "output": "hi"}
    second = await gpt.responses.create(model="fake-1", input=[result], previous_response_id=made.id, tools=[RUN, NOW])
    before = calling.engine.requests[0]
    assert calling.engine.requests[1].prompt[: len(before.prompt)] == before.prompt
    items = [item async for item in gpt.responses.input_items.list(second.id, order="asc")]
    assert [item.type for item in items] == ["message", "custom_tool_call", "custom_tool_call_output"]
    assert items[1].to_dict()["input"] == CODE
    history: Any = [{"role": "user", "content": "Run it."}, *made.output, result]
    third = await gpt.responses.create(model="fake-1", input=history, tools=[RUN, NOW], store=False)
    assert text_of(calling.engine.requests[2].prompt) == text_of(calling.engine.requests[1].prompt)
    assert calls_of(third)[0].input == CODE


@row("openai", "responses.create(tools=[{'type': 'custom', ...}], stream=True)", "`response.custom_tool_call_input."
     "delta` and `.done`; the stream can be continued from any event")  # fmt: skip
async def test_stream_has_the_input_without_its_json(gpt: AsyncOpenAI) -> None:
    made = await gpt.responses.create(model="fake-1", input="Run it.", tools=[RUN], background=True, stream=True)
    events = [event async for event in made]
    for event in events:
        type(event).model_validate(event.to_dict())
    deltas = [event.delta for event in events if event.type == "response.custom_tool_call_input.delta"]
    assert "".join(deltas) == CODE
    [done] = [event for event in events if event.type == "response.custom_tool_call_input.done"]
    assert done.input == CODE
    kinds = [event.type.removeprefix("response.") for event in events if not event.type.endswith(".delta")]
    assert kinds == [
        "created",
        "in_progress",
        "output_item.added",
        "custom_tool_call_input.done",
        "output_item.done",
        "completed",
    ]
    numbers = [event.sequence_number for event in events]
    assert numbers == sorted(set(numbers))
    [added] = [event for event in events if event.type == "response.output_item.added"]
    assert added.item.to_dict()["input"] == ""
    last = events[-1]
    assert last.type == "response.completed"
    for index in range(0, len(events), 3):
        rest = await gpt.responses.retrieve(last.response.id, stream=True, starting_after=numbers[index])
        assert [event async for event in rest] == events[index + 1 :]


async def test_cut_custom_call_has_the_input_so_far(gpt: AsyncOpenAI) -> None:
    cut = await gpt.responses.create(model="fake-1", input="Run it.", tools=[RUN], max_output_tokens=CUT)
    [call] = calls_of(cut)
    assert (call.input, call.to_dict()["status"], cut.status) == ('print("', "incomplete", "incomplete")


@row("openai", "chat.completions.create(tools=[{'type': 'custom', ...}])", "`tool_calls` of type `custom` with their "
     "`input`, also streamed; sent back with the result, their KV is found again")  # fmt: skip
async def test_chat_calls_custom_tool_with_one_text(calling: Api, gpt: AsyncOpenAI) -> None:
    asked: dict[str, Any] = {"model": "fake-1", "messages": [QUESTION], "tools": [CHAT_RUN, CHAT_NOW]}
    made = await gpt.chat.completions.create(**asked)
    [choice] = made.choices
    assert choice.finish_reason == "tool_calls"
    [call] = choice.message.tool_calls or []
    assert call.type == "custom"
    assert (call.custom.name, call.custom.input) == ("run", CODE)
    stream = await gpt.chat.completions.create(**asked, stream=True)
    pieces = [piece.to_dict() async for chunk in stream for piece in chunk.choices[0].delta.tool_calls or ()]
    first, *rest = pieces
    assert (first["type"], first["custom"]) == ("custom", {"name": "run", "input": ""})
    assert "".join(piece["custom"]["input"] for piece in rest) == CODE
    result: Any = {"role": "tool", "tool_call_id": call.id, "content": "hi"}
    await gpt.chat.completions.create(**{**asked, "messages": [QUESTION, choice.message, result]})
    before = calling.engine.requests[0]
    so_far = (*before.prompt, *before.produced)
    assert calling.engine.requests[2].prompt[: len(so_far)] == so_far


async def test_grammar_and_choice_hold_the_input(shallow_model: Path, tmp_path: Path) -> None:
    config = engine_config(shallow_model, tmp_path / "state", redis_url="off")
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    async with (
        running_server(tmp_path, engine) as server,
        AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client,
    ):
        fields: dict[str, Any] = {"model": "smollm2", "temperature": 0}
        named: Any = {"type": "custom", "name": "alarm"}
        allowed: Any = {"type": "allowed_tools", "mode": "required", "tools": [named]}
        offers: list[tuple[Any, list[Any]]] = [(named, [RUN, ALARM]), (allowed, [RUN, ALARM]), ("required", [ALARM])]
        for choice, tools in offers:
            made = await client.responses.create(**fields, input="Wake me.", tools=tools, tool_choice=choice)
            assert calls_of(made)
            for call in calls_of(made):
                assert call.name == "alarm"
                assert re.fullmatch(TIME["definition"], call.input)
        await settled(engine)
        history: Any = [{"role": "user", "content": "Wake me."}, *made.output]
        history += [
            {"type": "custom_tool_call_output", "call_id": call.call_id, "output": "set"} for call in calls_of(made)
        ]
        after = await client.responses.create(**fields, input=history, tools=[ALARM], max_output_tokens=5)
        assert made.usage is not None
        assert after.usage is not None
        assert after.usage.input_tokens_details.cached_tokens >= made.usage.total_tokens - 1
        chat: dict[str, Any] = {**fields, "messages": [QUESTION], "tools": [CHAT_RUN, CHAT_ALARM]}
        by_name: Any = {"type": "custom", "custom": {"name": "alarm"}}
        some: Any = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [by_name]}}
        for choice in (by_name, some):
            answer = await client.chat.completions.create(**chat, tool_choice=choice)
            for each in answer.choices[0].message.tool_calls or []:
                assert each.type == "custom"
                assert re.fullmatch(TIME["definition"], each.custom.input)
            assert answer.choices[0].message.tool_calls


async def test_lark_grammar_is_refused_where_a_call_is_required(gpt: AsyncOpenAI) -> None:
    tool: Any = {"type": "custom", "name": "a", "format": {"type": "grammar", **LARK}}
    chat_tool: Any = {"type": "custom", "custom": {"name": "a", "format": {"type": "grammar", "grammar": LARK}}}
    fields: dict[str, Any] = {"model": "fake-1", "tool_choice": "required"}
    with pytest.raises(openai.BadRequestError) as refused:
        await gpt.responses.create(**fields, input="hi", tools=[NOW, tool])
    assert refused.value.param == "tools[1].format.syntax"
    with pytest.raises(openai.BadRequestError) as refused:
        await gpt.chat.completions.create(**fields, messages=[QUESTION], tools=[chat_tool])
    assert refused.value.param == "tools[0].custom.format.grammar.syntax"
    await gpt.responses.create(model="fake-1", input="hi", tools=[tool])
    now: Any = {"type": "function", "name": "now"}
    await gpt.responses.create(model="fake-1", input="hi", tools=[NOW, tool], tool_choice=now)


async def test_custom_tool_with_name_of_another_is_refused(gpt: AsyncOpenAI) -> None:
    same: Any = {**RUN, "name": "now"}
    with pytest.raises(openai.BadRequestError) as refused:
        await gpt.responses.create(model="fake-1", input="hi", tools=[NOW, same])
    assert refused.value.param == "tools[1]"
