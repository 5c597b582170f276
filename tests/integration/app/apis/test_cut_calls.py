"""Calls that a timeout cuts, and calls and results in histories that clients have trimmed, in every API."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any, TypeVar

import openai
import pytest
from anthropic import AsyncAnthropic
from ollama import AsyncClient as OllamaClient
from openai import AsyncOpenAI

from engine.testing.replay_engine import ReplayEngine
from engine.testing.script import Said
from tests.integration.api_server import RunningServer, running_server

CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome", "days": 12}}\n</tool_call>'
CUT = CALL.index('me",')
PARTIAL = '{"city": "Ro'
FUNCTION = {"name": "weather", "parameters": {"type": "object"}}
CHAT: dict[str, Any] = {"model": "fake-1", "tools": [{"type": "function", "function": FUNCTION}]}
RESPONSE: dict[str, Any] = {"model": "fake-1", "tools": [{"type": "function", **FUNCTION, "strict": None}]}
MESSAGE: dict[str, Any] = {
    "model": "fake-1",
    "max_tokens": 500,
    "tools": [{"name": "weather", "input_schema": {"type": "object"}}],
}
USER: Any = {"role": "user", "content": "Rome?"}

Api = RunningServer[ReplayEngine]
T = TypeVar("T")


@pytest.fixture
async def calling(tmp_path: Path) -> AsyncIterator[Api]:
    async with running_server(tmp_path, ReplayEngine(Said(CALL))) as server:
        yield server


@pytest.fixture
async def gpt(calling: Api) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{calling.url}/v1", api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture
async def claude(calling: Api) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(base_url=calling.url, api_key="none", max_retries=0) as client:
        yield client


async def timed_out(engine: ReplayEngine, answer: Awaitable[T]) -> T:
    """Return an answer whose request reaches its deadline within the arguments."""
    engine.hold()
    asked = asyncio.ensure_future(answer)
    await engine.until_running(1)
    engine.allow(CUT)
    await engine.until_produced(engine.requests[-1], CUT)
    engine.end(engine.requests[-1], "timeout")
    engine.allow(None)
    return await asked


async def test_timeout_leaves_partial_calls_in_every_api(
    calling: Api, gpt: AsyncOpenAI, claude: AsyncAnthropic
) -> None:
    chat = await timed_out(calling.engine, gpt.chat.completions.create(**CHAT, messages=[USER]))
    [choice] = chat.choices
    [call] = choice.message.tool_calls or []
    assert call.type == "function"
    assert (choice.finish_reason, choice.message.content, call.function.arguments) == ("length", None, PARTIAL)
    message = await timed_out(calling.engine, claude.messages.create(**MESSAGE, messages=[USER]))
    [block] = message.content
    assert block.type == "text", (
        "an object with half of the input would be run by clients that do not ask for the reason"
    )
    assert (message.stop_reason, block.text) == ("max_tokens", CALL[:CUT])
    response = await timed_out(calling.engine, gpt.responses.create(**RESPONSE, input="Rome?"))
    [item] = response.output
    assert item.type == "function_call"
    assert (response.status, item.status, item.name, item.arguments) == ("incomplete", "incomplete", "weather", PARTIAL)


async def test_partial_call_is_recognized_when_sent_back(calling: Api, gpt: AsyncOpenAI) -> None:
    cut = await gpt.chat.completions.create(**CHAT, messages=[USER], max_tokens=CUT)
    asked = calling.engine.requests[-1]
    message: Any = cut.choices[0].message.model_dump(exclude_none=True)
    await gpt.chat.completions.create(**CHAT, messages=[USER, message, USER])
    before = (*asked.prompt, *asked.produced)
    assert calling.engine.requests[-1].prompt[: len(before)] == before
    item: Any = {"type": "function_call", "call_id": "c", "name": "weather", "arguments": PARTIAL}
    await gpt.responses.create(**RESPONSE, input=[USER, item, USER], store=False)
    assert calling.engine.requests[-1].prompt[: len(before)] == before


async def test_partial_input_is_recognized_when_sent_back(calling: Api, claude: AsyncAnthropic) -> None:
    for is_streamed in (False, True):
        cut = await cut_message(claude, is_streamed=is_streamed)
        await check_recognized(calling, claude, cut)


async def cut_message(claude: AsyncAnthropic, *, is_streamed: bool) -> Any:
    asked: Any = {**MESSAGE, "max_tokens": CUT, "messages": [USER]}
    if not is_streamed:
        return await claude.messages.create(**asked)
    async with claude.messages.stream(**asked) as stream:
        return await stream.get_final_message()


async def check_recognized(calling: Api, claude: AsyncAnthropic, cut: Any) -> None:
    """Assert that the exact tokens of an answer are found when the answer is sent back."""
    asked = calling.engine.requests[-1]
    message: Any = {"role": "assistant", "content": [block.to_dict() for block in cut.content]}
    await claude.messages.create(**MESSAGE, messages=[USER, message, USER])
    before = (*asked.prompt, *asked.produced)
    assert calling.engine.requests[-1].prompt[: len(before)] == before


async def test_partial_call_of_ollama_is_recognized(calling: Api) -> None:
    async with OllamaClient(host=calling.url) as client:
        cut = await client.chat("fake-1", [USER], tools=CHAT["tools"], options={"num_predict": CUT})
        asked = calling.engine.requests[-1]
        await client.chat("fake-1", [USER, cut.message, USER], tools=CHAT["tools"])
    before = (*asked.prompt, *asked.produced)
    assert calling.engine.requests[-1].prompt[: len(before)] == before


async def test_results_without_their_calls_are_taken(gpt: AsyncOpenAI, claude: AsyncAnthropic) -> None:
    result: Any = {"role": "tool", "tool_call_id": "trimmed", "content": "21"}
    assert (await gpt.chat.completions.create(**CHAT, messages=[result, USER])).choices[0].finish_reason == "tool_calls"
    block: Any = {"type": "tool_result", "tool_use_id": "trimmed", "content": "21"}
    told: Any = [{"role": "user", "content": [block]}]
    assert (await claude.messages.create(**MESSAGE, messages=told)).stop_reason == "tool_use"
    item: Any = {"type": "function_call_output", "call_id": "trimmed", "output": "21"}
    for store in (False, True):
        assert (await gpt.responses.create(**RESPONSE, input=[item], store=store)).status == "completed"


async def test_result_in_stored_conversation_needs_its_call(gpt: AsyncOpenAI) -> None:
    cut = await gpt.responses.create(**RESPONSE, input="Rome?", max_output_tokens=CUT)
    conversation = await gpt.conversations.create()
    item: Any = {"type": "function_call_output", "call_id": "trimmed", "output": "21"}
    for parent in ({"previous_response_id": cut.id}, {"conversation": conversation.id}):
        with pytest.raises(openai.BadRequestError) as caught:
            await gpt.responses.create(**RESPONSE, input=[item], **parent)
        assert caught.value.param == "input[0].call_id"
    [call] = cut.output
    assert call.type == "function_call"
    answered: Any = {**item, "call_id": call.call_id}
    after = await gpt.responses.create(**RESPONSE, input=[answered], previous_response_id=cut.id)
    assert after.status == "completed"
