"""Structured outputs and tools with the `openai` package, on the real engine with the default model."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import jsonschema
import openai
import pytest
from openai import AsyncOpenAI
from openai.lib.streaming.chat import ChatCompletionStreamState

from engine.grammar import automaton
from engine.wiring.build import build_engine
from tests.integration.api_server import running_server
from tests.integration.compatibility import row
from tests.integration.engine_rig import engine_config

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer", "maximum": 150}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
WEATHER = {
    "type": "object",
    "properties": {"city": {"enum": ["Paris", "Rome"]}, "unit": {"$ref": "#/$defs/unit"}},
    "required": ["city", "unit"],
    "additionalProperties": False,
    "$defs": {"unit": {"enum": ["c", "f"]}},
}
TOOLS: list[Any] = [
    {"type": "function", "function": {"name": "weather", "description": "Of a city", "parameters": WEATHER}},
    {"type": "function", "function": {"name": "now"}},
]
QUESTION: list[Any] = [{"role": "user", "content": "What is the weather in Paris?"}]


@pytest.fixture
async def client(shallow_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[AsyncOpenAI]:
    config = engine_config(shallow_model, tmp_path / "state", redis_url="off")
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    # A running engine has already built the grammar tokenizer. Building it later would delay every tenant's answers.
    monkeypatch.delattr(automaton, "make_tokenizer")
    async with (
        running_server(tmp_path, engine) as server,
        AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client,
    ):
        yield client


def asked(**fields: Any) -> dict[str, Any]:
    return {"model": "smollm2", "messages": QUESTION, "max_tokens": 60, "temperature": 0, **fields}


def schema_format(schema: dict[str, Any]) -> Any:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}


@row("openai", "chat.completions.create(response_format=...)", "JSON of the schema, compact, also streamed")
async def test_answers_match_the_requested_form(client: AsyncOpenAI) -> None:
    create = client.chat.completions.create
    whole = await create(**asked(response_format=schema_format(PERSON)))
    text = whole.choices[0].message.content or ""
    assert whole.choices[0].finish_reason == "stop"
    jsonschema.validate(json.loads(text), PERSON)
    assert text == json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False)
    chunks = [chunk async for chunk in await create(**asked(response_format=schema_format(PERSON)), stream=True)]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == text
    assert len(chunks) > 3
    for fields, allowed in (
        ({"guided_choice": ["yes", "n(o)", "a|b"]}, ("yes", "n(o)", "a|b")),
        ({"structured_outputs": {"regex": "[ab]c"}}, ("ac", "bc")),
        ({"guided_grammar": 'start: "x" ("y" | "z")'}, ("xy", "xz")),
        ({"structured_outputs": {"json": '{"enum":[1,"ä"]}'}}, ("1", '"ä"')),
    ):
        answer = await create(**asked(extra_body=fields))
        assert (answer.choices[0].message.content, answer.choices[0].finish_reason) in [(a, "stop") for a in allowed]
    older = await client.completions.create(
        model="smollm2", prompt="Say", max_tokens=9, extra_body={"guided_regex": "(ha){2}"}
    )
    assert older.choices[0].text == "haha"
    await refusals(client)


async def refusals(client: AsyncOpenAI) -> None:
    """Assert that invalid forms and conflicting fields are refused with the name of the field."""
    for fields, param in (
        ({"response_format": schema_format({"type": "strange"})}, "response_format.json_schema.schema"),
        ({"extra_body": {"guided_regex": "(a"}}, "guided_regex"),
        ({"extra_body": {"structured_outputs": {"regex": "((a{99}){99}){99}"}}}, "structured_outputs.regex"),
        ({"extra_body": {"guided_grammar": "start: a\na: " + "a a | " * 500 + '"x"'}}, "guided_grammar"),
        ({"extra_body": {"guided_regex": "a", "guided_choice": ["a"]}}, "guided_choice"),
        ({"extra_body": {"guided_regex": "a", "ignore_eos": True}}, "ignore_eos"),
        ({"tools": TOOLS, "tool_choice": named("nothing")}, "tool_choice.function.name"),
    ):
        with pytest.raises(openai.BadRequestError) as caught:
            await client.chat.completions.create(**asked(**fields))
        assert caught.value.param == param


async def test_required_call_comes_before_the_format_of_text(client: AsyncOpenAI) -> None:
    fields: dict[str, Any] = {"tools": TOOLS, "response_format": schema_format(PERSON), "max_tokens": 200}
    answer = await client.chat.completions.create(**asked(**fields, tool_choice=named("now")))
    [call] = answer.choices[0].message.tool_calls or []
    assert call.to_dict()["function"] == {"name": "now", "arguments": "{}"}


def named(name: str) -> Any:
    return {"type": "function", "function": {"name": name}}


@row("openai", "chat.completions.create(tools=..., tool_choice=...)", "calls whose arguments keep to the schema, "
     "also streamed; sent back with what came of them, their KV is found again")  # fmt: skip
async def test_tool_calls_and_results_round_trip(client: AsyncOpenAI) -> None:
    create = client.chat.completions.create
    first = await create(**asked(tools=TOOLS, tool_choice="required", max_tokens=200))
    message = first.choices[0].message
    assert (first.choices[0].finish_reason, message.content) == ("tool_calls", None)
    calls: list[Any] = list(message.tool_calls or [])
    assert calls
    for call in calls:
        jsonschema.validate(json.loads(call.function.arguments), WEATHER if call.function.name == "weather" else {})
    streamed = await create(**asked(tools=TOOLS, tool_choice="required", max_tokens=200), stream=True)
    deltas = [chunk.choices[0] async for chunk in streamed]
    told = [each for delta in deltas for each in delta.delta.tool_calls or []]
    assert [each.index for each in told if each.id] == list(range(len(calls)))
    for index, call in enumerate(calls):
        pieces = [each.function for each in told if each.index == index and each.function]
        assert [piece.name for piece in pieces] == [call.function.name, *[None] * (len(pieces) - 1)]
        assert "".join(piece.arguments or "" for piece in pieces) == call.function.arguments
    assert deltas[-1].finish_reason == "tool_calls"
    results = [{"role": "tool", "tool_call_id": call.id, "content": '{"celsius": 21}'} for call in calls]
    history = [*QUESTION, message.model_dump(exclude_none=True), *results]
    second = await create(**asked(tools=TOOLS, messages=history))
    assert first.usage is not None
    assert second.usage is not None
    assert second.usage.prompt_tokens_details is not None
    # KV of an answer's last token is never computed.
    before = first.usage.prompt_tokens + first.usage.completion_tokens - 1
    assert second.usage.prompt_tokens_details.cached_tokens == before
    one = await create(**asked(tools=TOOLS, tool_choice=named("now")))
    [call] = one.choices[0].message.tool_calls or []
    assert (call.type, call.type == "function" and call.function.name) == ("function", "now")
    assert one.choices[0].finish_reason == "stop", "OpenAI reports stop for a forced call"
    streamed = await create(**asked(tools=TOOLS, tool_choice=named("now")), stream=True)
    assert [chunk.choices[0].finish_reason async for chunk in streamed][-1] == "stop"
    single = await create(**asked(tools=TOOLS, tool_choice="required", parallel_tool_calls=False))
    assert len(single.choices[0].message.tool_calls or []) == 1
    none = await create(**asked(tools=TOOLS, tool_choice="none", max_tokens=5))
    assert none.choices[0].message.tool_calls is None


@row("openai", "chat.completions.create(tools=..., max_tokens=...)", "a cut call has its name and the beginning of its "
     "arguments, also streamed; the reason is `length`; it can be sent back")  # fmt: skip
async def test_cut_call_has_its_name_and_partial_arguments(client: AsyncOpenAI) -> None:
    create = client.chat.completions.create
    must: dict[str, Any] = {"tools": TOOLS, "tool_choice": named("weather")}
    whole = await create(**asked(**must))
    [call] = whole.choices[0].message.tool_calls or []
    assert whole.usage is not None
    assert call.type == "function"
    told = set[str]()
    for limit in range(2, whole.usage.completion_tokens - 1, 3):
        cut = await create(**asked(**must, max_tokens=limit))
        choice = cut.choices[0]
        calls = choice.message.tool_calls or []
        assert (choice.finish_reason, choice.message.content or "", len(calls) < 2) == ("length", "", True)
        state = ChatCompletionStreamState()
        async for chunk in await create(**asked(**must, max_tokens=limit), stream=True):
            state.handle_chunk(chunk)
        streamed = state.current_completion_snapshot.choices[0]
        functions = [each.function for each in calls if each.type == "function"]
        received = [each.function for each in streamed.message.tool_calls or [] if each.type == "function"]
        assert [(each.name, each.arguments) for each in received] == [(each.name, each.arguments) for each in functions]
        for function in functions:
            assert (function.name, call.function.arguments.startswith(function.arguments)) == ("weather", True)
            told.add(function.arguments)
        history = [*QUESTION, choice.message.model_dump(exclude_none=True), {"role": "user", "content": "Go on"}]
        again = await create(**asked(tools=TOOLS, messages=history, max_tokens=2))
        assert cut.usage is not None
        assert again.usage is not None
        assert again.usage.prompt_tokens_details is not None
        assert again.usage.prompt_tokens_details.cached_tokens >= cut.usage.prompt_tokens
    assert len(told) > 2
