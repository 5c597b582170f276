"""Anthropic's searches for tools, which the server runs within an answer, through Anthropic's client."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from anthropic.types import Message

from engine.api.generate_request import GenerateRequest
from engine.testing.answer import ReplayedAnswer
from engine.testing.byte_tokenizer import text_of
from engine.testing.replay_engine import ReplayEngine
from engine.testing.script import Said, Token
from models.chat.tool_format import find_tool_format
from tests.integration.api_server import RunningServer, running_server
from tests.integration.compatibility import row

NAMES = ("tool_search_tool_regex", "tool_search_tool_bm25")
WEATHER = {
    "name": "get_weather",
    "description": "Weather of a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
    "defer_loading": True,
}
MAIL = {"name": "send_mail", "description": "Mail", "input_schema": {"type": "object"}, "defer_loading": True}
QUESTION: Any = {"role": "user", "content": "Rain in Rome?"}


def call(name: str, **given: Any) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': given})}\n</tool_call>"


class Rounds(ReplayEngine):
    """An engine whose requests are answered by the given texts, in order. continued: set with the second request."""

    def __init__(self) -> None:
        super().__init__(self)
        self.said: list[str] = []
        self.continued = asyncio.Event()

    async def generate(self, request: GenerateRequest) -> list[ReplayedAnswer]:
        streams = await super().generate(request)
        if len(self.requests) == 2:
            self.continued.set()
        return streams

    def next(self, answer: ReplayedAnswer, step: int) -> Token | None:
        return Said(self.said[self.requests.index(answer)]).next(answer, step)


Api = RunningServer[Rounds]


@pytest.fixture
async def searching(tmp_path: Path) -> AsyncIterator[Api]:
    async with running_server(tmp_path, Rounds()) as server:
        yield server


async def ask(api: Api, name: str, *turns: Any, stream: bool, **fields: Any) -> Message:
    tools: Any = [{"type": f"{name}_20251119", "name": name}, WEATHER, MAIL]
    sent = [QUESTION, *turns]
    asked: dict[str, Any] = {"model": "fake-1", "max_tokens": 900, "tools": tools, "messages": sent, **fields}
    async with AsyncAnthropic(base_url=api.url, api_key="none", max_retries=0) as client:
        if not stream:
            whole: Message = await client.messages.create(**asked)
            return whole
        async with client.messages.stream(**asked) as events:
            return await events.get_final_message()


def blocks_of(message: Message) -> list[dict[str, Any]]:
    return [block.to_dict() for block in message.content]


@row("anthropic", "messages.create(tools=[{'type': 'tool_search_tool_regex_20251119', ...}])", "the server searches "
     "among the deferred tools, by pattern or by words (`bm25`), and the same answer continues with "
     "`server_tool_use` and `tool_search_tool_result`")  # fmt: skip
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", NAMES)
async def test_answer_continues_with_the_tool_it_found(searching: Api, name: str, stream: bool) -> None:
    first, second = "Let me look. " + call(name, query="weather"), call("get_weather", city="Rome")
    searching.engine.said = [first, second, "It rains."]
    answer = await ask(searching, name, stream=stream)
    said, search, result, use = blocks_of(answer)
    assert (said["text"], answer.stop_reason) == ("Let me look. ", "tool_use")
    assert (search["type"], search["name"], search["input"]) == ("server_tool_use", name, {"query": "weather"})
    assert (result["type"], result["tool_use_id"]) == ("tool_search_tool_result", search["id"])
    assert [each["tool_name"] for each in result["content"]["tool_references"]] == ["get_weather"]
    assert (use["type"], use["name"], use["input"]) == ("tool_use", "get_weather", {"city": "Rome"})
    assert answer.usage.output_tokens == len(first) + len(second) + 2
    assert [request.params.max_tokens for request in searching.engine.requests] == [900, 900 - len(first) - 1]

    found = {"type": "tool_result", "tool_use_id": use["id"], "content": "Yes."}
    await ask(
        searching,
        name,
        {"role": "assistant", "content": answer.content},
        {"role": "user", "content": [found]},
        stream=stream,
    )
    prompts = [list(request.prompt) for request in searching.engine.requests]
    for before, said_then, after in zip(prompts, (first, second), prompts[1:], strict=False):
        assert after[: len(before)] == before
        assert text_of(after[len(before) :]).startswith(said_then)
    assert "send_mail" not in text_of(prompts[-1])
    assert '<function>{"name": "get_weather"' in text_of(prompts[1][len(prompts[0]) :])


@pytest.mark.parametrize("stream", [False, True])
async def test_arguments_of_a_found_tool_are_read_by_its_schema(searching: Api, stream: bool) -> None:
    searching.engine.chat_format.tools = find_tool_format({}, "", name="qwen3-coder")
    search = f"<tool_call><function={NAMES[1]}><parameter=query>weather</parameter></function></tool_call>"
    use = "<tool_call><function=get_weather><parameter=days>2</parameter></function></tool_call>"
    searching.engine.said = [search, use]
    assert blocks_of(await ask(searching, NAMES[1], stream=stream))[-1]["input"] == {"days": 2}


@pytest.mark.parametrize("stream", [False, True])
async def test_bad_pattern_reaches_model_and_client(searching: Api, stream: bool) -> None:
    searching.engine.said = [call(NAMES[0], query="(a"), "I give up."]
    answer = await ask(searching, NAMES[0], stream=stream)
    _, result, text = blocks_of(answer)
    assert result["content"]["error_code"] == "invalid_tool_input"
    assert (text["text"], answer.stop_reason) == ("I give up.", "end_turn")
    assert "[search failed: invalid_tool_input]" in text_of(searching.engine.requests[1].prompt)


@pytest.mark.parametrize("stream", [False, True])
async def test_search_with_a_clients_call_ends_the_answer(searching: Api, stream: bool) -> None:
    searching.engine.said = [call(NAMES[1], query="mail") + call("get_weather"), "Done."]
    answer = await ask(searching, NAMES[1], stream=stream)
    assert [block["type"] for block in blocks_of(answer)] == ["server_tool_use", "tool_use", "tool_search_tool_result"]
    assert answer.stop_reason == "tool_use"


@pytest.mark.parametrize("stream", [False, True])
async def test_endless_searches_pause_and_continue(searching: Api, stream: bool) -> None:
    searching.engine.said = [call(NAMES[1], query="mail")] * 8 + ["Found."]
    paused = await ask(searching, NAMES[1], stream=stream)
    assert (len(paused.content), paused.stop_reason) == (16, "pause_turn")
    going_on = {"role": "assistant", "content": paused.content}
    answer = await ask(searching, NAMES[1], going_on, stream=stream)
    assert ([block["text"] for block in blocks_of(answer)], answer.stop_reason) == (["Found."], "end_turn")


async def test_named_search_is_required_once(searching: Api) -> None:
    searching.engine.said = [call(NAMES[0], query="mail"), "Found."]
    await ask(searching, NAMES[0], stream=False, tool_choice={"type": "tool", "name": NAMES[0]})
    assert [request.params.form is not None for request in searching.engine.requests] == [True, False]


async def test_client_that_leaves_ends_the_round_in_progress(searching: Api) -> None:
    searching.engine.said = [call(NAMES[0], query="mail"), "Found."]
    searching.engine.hold()
    answer = asyncio.ensure_future(ask(searching, NAMES[0], stream=True))
    searching.engine.allow(len(searching.engine.said[0]) + 3)
    await asyncio.wait_for(searching.engine.continued.wait(), timeout=20)
    answer.cancel()
    await searching.engine.until_running(0)


@pytest.mark.parametrize("stream", [False, True])
async def test_cut_search_is_not_run(searching: Api, stream: bool) -> None:
    searching.engine.said = [call(NAMES[0], query="weather")]
    answer = await ask(searching, NAMES[0], stream=stream, max_tokens=75)
    kinds = ["server_tool_use" if stream else "text"]
    assert ([block["type"] for block in blocks_of(answer)], answer.stop_reason) == (kinds, "max_tokens")
