"""Compatibility of clients with a model that thinks: real packages and a tiny openPangu-Embedded model."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import anthropic
import pytest
from anthropic import AsyncAnthropic
from ollama import AsyncClient as OllamaClient
from openai import AsyncOpenAI
from openai.types.responses import ResponseStreamEvent

from engine.loop.async_llm import AsyncLLMEngine
from engine.wiring.build import build_engine
from tests.integration.api_server import RunningServer, running_server
from tests.integration.compatibility import row
from tests.integration.engine_rig import engine_config
from tests.tiny_openpangu import ANSWER, THOUGHT, write_thinking_openpangu

MODEL = "smollm2"
HI: Any = [{"role": "user", "content": "Hi"}]
ADAPTIVE: Any = {"type": "adaptive"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_thinking_openpangu(tmp_path_factory.mktemp("models") / "pangu")


@pytest.fixture
async def api(folder: Path, tmp_path: Path) -> AsyncIterator[RunningServer[AsyncLLMEngine]]:
    config = engine_config(folder, tmp_path / "state", prefix_cache=False)
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    async with running_server(tmp_path, engine) as server:
        yield server


@pytest.fixture
async def openai(api: RunningServer[AsyncLLMEngine]) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{api.url}/v1", api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture
async def ollama(api: RunningServer[AsyncLLMEngine]) -> AsyncIterator[OllamaClient]:
    async with OllamaClient(host=api.url) as client:
        yield client


@pytest.fixture
async def claude(api: RunningServer[AsyncLLMEngine]) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(base_url=api.url, api_key="none", max_retries=0) as client:
        yield client


@row("openai", "responses.create(...)", "a `reasoning` item with the thoughts in its `content` before the message; "
     "an item that is sent back in `input` is ignored; no item with `reasoning={'effort': 'none'}`")  # fmt: skip
async def test_response_has_its_reasoning_in_an_item(openai: AsyncOpenAI) -> None:
    response = await openai.responses.create(model=MODEL, input="Hi")
    reasoning, message = response.output
    assert reasoning.type == "reasoning"
    assert reasoning.content is not None
    assert ([part.text for part in reasoning.content], reasoning.status) == ([THOUGHT], "completed")
    assert (message.type, response.output_text, response.status) == ("message", ANSWER, "completed")
    assert response.usage is not None
    assert response.usage.output_tokens_details.reasoning_tokens > 1
    assert (await openai.responses.retrieve(response.id)).output == response.output

    said = ["Hi", ANSWER, "you are"]
    echoed: Any = [*HI, *(item.to_dict() for item in response.output), {"role": "user", "content": said[-1]}]
    again = await openai.responses.create(model=MODEL, input=echoed)
    alone: Any = [{"role": role, "content": text} for role, text in zip(("user", "assistant", "user"), said)]  # noqa: B905
    without = await openai.responses.create(model=MODEL, input=alone)
    assert again.usage is not None
    assert without.usage is not None
    assert again.usage.input_tokens == without.usage.input_tokens

    quick = await openai.responses.create(model=MODEL, input="Hi", reasoning={"effort": "none"})
    assert [item.type for item in quick.output] == ["message"]
    cut = await openai.responses.create(model=MODEL, input="Hi", max_output_tokens=3)
    assert [(item.type, item.to_dict()["status"]) for item in cut.output] == [("reasoning", "incomplete")]
    assert THOUGHT.startswith(cut.output[0].to_dict()["content"][0]["text"])  # type: ignore[index]


THOUGHT_EVENTS = [
    *("response.created", "response.in_progress", "response.output_item.added", "response.content_part.added"),
    *("response.reasoning_text.delta", "response.reasoning_text.done"),
    *("response.content_part.done", "response.output_item.done"),
]
TEXT_EVENTS = [
    *("response.output_item.added", "response.content_part.added"),
    *("response.output_text.delta", "response.output_text.done"),
    *("response.content_part.done", "response.output_item.done", "response.completed"),
]


@row("openai", "responses.create(stream=True)", "`response.reasoning_text.delta` and `.done` in a separate item, "
     "then the message; any event can be gone on from")  # fmt: skip
async def test_response_stream_sends_reasoning_first(openai: AsyncOpenAI) -> None:
    async with await openai.responses.create(model=MODEL, input="Hi", stream=True, background=True) as stream:
        events = [event async for event in stream]
    kinds = [event.type for event in events]
    assert [kind for at, kind in enumerate(kinds) if kind != kinds[at - 1]] == THOUGHT_EVENTS + TEXT_EVENTS
    numbers = [event.sequence_number for event in events]
    assert numbers == sorted(set(numbers))
    assert thought_and_answer(events) == (THOUGHT, ANSWER)
    first, last = events[0], events[-1]
    assert first.type == "response.created"
    assert first.response.output == []
    assert last.type == "response.completed"
    done = [event.item for event in events if event.type == "response.output_item.done"]
    assert done == last.response.output
    assert [(event.output_index, event.item_id) for event in events if event.type.endswith("text.done")] == [  # type: ignore[union-attr]
        (index, item.id) for index, item in enumerate(done)
    ]
    for at, event in enumerate(events):
        again = await openai.responses.retrieve(first.response.id, stream=True, starting_after=event.sequence_number)
        assert [each async for each in again] == events[at + 1 :]
    async with openai.responses.stream(model=MODEL, input="Hi") as helper:
        whole = await helper.get_final_response()
    assert [item.type for item in whole.output] == ["reasoning", "message"]
    cut = [event async for event in await openai.responses.create(
        model=MODEL, input="Hi", stream=True, max_output_tokens=3)]  # fmt: skip
    assert [event.type for event in cut[-4:]] == [*THOUGHT_EVENTS[-3:], "response.incomplete"]


def thought_and_answer(events: list[ResponseStreamEvent]) -> tuple[str, str]:
    """Join the reasoning deltas and the text deltas of a stream."""
    thoughts = [event.delta for event in events if event.type == "response.reasoning_text.delta"]
    texts = [event.delta for event in events if event.type == "response.output_text.delta"]
    return "".join(thoughts), "".join(texts)


@row("anthropic", "messages.create(thinking={'type': 'adaptive'})", "a block of `thinking` before the text, empty with "
     "`display: omitted`; so with `enabled`; none with `disabled` or without the field")  # fmt: skip
async def test_message_has_its_thinking_in_a_block(claude: AsyncAnthropic) -> None:
    enabled: Any = {"type": "enabled", "budget_tokens": 1024}
    for thinking in (ADAPTIVE, enabled):
        answer = await claude.messages.create(model=MODEL, max_tokens=2048, messages=HI, thinking=thinking)
        thought, text = answer.content
        assert thought.type == "thinking"
        assert text.type == "text"
        assert (thought.thinking, text.text, answer.stop_reason) == (THOUGHT, ANSWER, "end_turn")
        assert thought.signature
    hidden: Any = {"type": "adaptive", "display": "omitted"}
    omitted = await claude.messages.create(model=MODEL, max_tokens=99, messages=HI, thinking=hidden)
    assert [block.type for block in omitted.content] == ["thinking", "text"]
    assert omitted.content[0].to_dict()["thinking"] == ""
    for off in ({}, {"thinking": {"type": "disabled"}}):
        fields: Any = off
        quick = await claude.messages.create(model=MODEL, max_tokens=99, messages=HI, **fields)
        assert [block.type for block in quick.content] == ["text"]
        assert quick.usage.output_tokens < answer.usage.output_tokens
    cut = await claude.messages.create(model=MODEL, max_tokens=3, messages=HI, thinking=ADAPTIVE)
    assert ([block.type for block in cut.content], cut.stop_reason) == (["thinking"], "max_tokens")
    between: Any = {"type": "between_tools"}
    often: Any = {"type": "often"}
    silent = await claude.messages.create(model=MODEL, max_tokens=99, messages=HI, thinking=between)
    assert [block.type for block in silent.content] == ["text"]
    with pytest.raises(anthropic.BadRequestError, match=r"thinking\.type"):
        await claude.messages.create(model=MODEL, max_tokens=9, messages=HI, thinking=often)


BUDGETS: list[tuple[str, dict[str, Any]]] = [
    ("/v1/chat/completions", {"messages": HI, "thinking_token_budget": 3}),
    ("/v1/chat/completions", {"messages": HI, "reasoning_budget_tokens": 3}),
    ("/v1/chat/completions", {"messages": HI, "thinking": {"type": "enabled", "budget_tokens": 3}}),
    ("/v1/messages", {"messages": HI, "thinking": {"type": "enabled", "budget_tokens": 3}}),
    ("/v1/responses", {"input": "Hi", "thinking_token_budget": 3}),
]


@pytest.mark.parametrize(("path", "fields"), BUDGETS)
async def test_thoughts_end_at_the_budget_on_every_route(
    path: str, fields: dict[str, Any], api: RunningServer[AsyncLLMEngine]
) -> None:
    limit = "max_output_tokens" if path == "/v1/responses" else "max_tokens"
    async with aiohttp.ClientSession(api.url) as http:
        answer = await http.post(path, json={"model": MODEL, limit: 30, "temperature": 0, **fields})
        assert answer.status == 200
        assert "X-Ebb-Ignored" not in answer.headers
        body = await answer.json()
    if path == "/v1/messages":
        thought = body["content"][0]["thinking"]
    elif path == "/v1/responses":
        thought = body["output"][0]["content"][0]["text"]
        assert body["usage"]["output_tokens_details"]["reasoning_tokens"] == 3
    else:
        thought = body["choices"][0]["message"]["reasoning_content"]
        assert body["usage"]["completion_tokens_details"]["reasoning_tokens"] == 3
    assert thought
    assert THOUGHT.startswith(thought)
    assert thought != THOUGHT


@row("anthropic", "messages.create(messages=[..., answer, ...], thinking=...)", "thoughts that are sent back, whatever "
     "their `signature`, are not part of the prompt")  # fmt: skip
async def test_thinking_sent_back_is_left_out_of_the_prompt(claude: AsyncAnthropic) -> None:
    answer = await claude.messages.create(model=MODEL, max_tokens=99, messages=HI, thinking=ADAPTIVE)
    redacted = {"type": "redacted_thinking", "data": "xyz"}
    counts = set()
    for content in (answer.content, [redacted, *answer.content], ANSWER):
        history: Any = [*HI, {"role": "assistant", "content": content}, *HI]
        counted = await claude.messages.count_tokens(model=MODEL, messages=history, thinking=ADAPTIVE)
        counts.add(counted.input_tokens)
        again = await claude.messages.create(model=MODEL, max_tokens=99, messages=history, thinking=ADAPTIVE)
        assert again.content == answer.content
    assert len(counts) == 1
    forged: Any = [{"role": "user", "content": [answer.content[0].to_dict()]}]
    with pytest.raises(anthropic.BadRequestError, match=r"messages\[0\]\.content"):
        await claude.messages.create(model=MODEL, max_tokens=9, messages=forged)


@row("anthropic", "messages.stream(thinking=...)", "`thinking_delta`, then `signature_delta`, then the text in a "
     "separate block")  # fmt: skip
async def test_message_stream_sends_thinking_first(claude: AsyncAnthropic) -> None:
    async with claude.messages.stream(model=MODEL, max_tokens=99, messages=HI, thinking=ADAPTIVE) as stream:
        events = [event async for event in stream]
        whole = await stream.get_final_message()
    deltas = [(event.index, event.delta.type) for event in events if event.type == "content_block_delta"]
    thoughts = deltas.count((0, "thinking_delta"))
    assert thoughts > 1
    assert deltas[:thoughts] == [(0, "thinking_delta")] * thoughts
    assert deltas[thoughts] == (0, "signature_delta")
    assert {*deltas[thoughts + 1 :]} == {(1, "text_delta")}
    assert [event.index for event in events if event.type == "content_block_stop"] == [0, 1]
    asked = await claude.messages.create(model=MODEL, max_tokens=99, messages=HI, thinking=ADAPTIVE)
    assert whole.to_dict()["content"] == asked.to_dict()["content"]


@row("ollama", "chat(think=True)", "`thinking` apart from `content`, also streamed and without the field; none with "
     "`think=False`; thoughts that are sent back are not part of the prompt")  # fmt: skip
async def test_ollama_message_has_its_thinking_apart(ollama: OllamaClient) -> None:
    for think in (None, True, "high"):
        fields: Any = {"think": think}
        answer = await ollama.chat(MODEL, HI, **fields)
        assert (answer.message.thinking, answer.message.content) == (THOUGHT, ANSWER)
    parts = [part async for part in await ollama.chat(MODEL, HI, think=True, stream=True)]
    assert "".join(part.message.thinking or "" for part in parts) == THOUGHT
    assert "".join(part.message.content or "" for part in parts) == ANSWER
    quick = await ollama.chat(MODEL, HI, think=False)
    assert (quick.message.thinking, quick.message.content) == (None, ANSWER)
    counts = set()
    for said in (answer.message, {"role": "assistant", "content": ANSWER}):
        counts.add((await ollama.chat(MODEL, [*HI, said, *HI])).prompt_eval_count)
    assert len(counts) == 1
    generated = await ollama.generate(MODEL, "Hi", think=True)
    assert (generated.thinking, generated.response) == (THOUGHT, ANSWER)
    assert (await ollama.show(MODEL)).capabilities == ["completion", "tools", "thinking"]
