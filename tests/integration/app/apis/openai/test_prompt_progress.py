"""The progress of a prompt in streams of OpenAI's routes, in llama.cpp's shape."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from openai import AsyncOpenAI

from engine.api.outputs import PromptProgress, RequestOutput
from engine.testing.answer import ReplayedAnswer
from engine.testing.replay_engine import ReplayEngine
from engine.testing.script import ANSWER_WORDS
from tests.integration.api_server import RunningServer
from tests.integration.compatibility import row

Api = RunningServer[ReplayEngine]

WHOLE_ANSWER = "".join(f" w{i}" for i in range(ANSWER_WORDS))
ASKED: dict[str, Any] = {"return_progress": True}
TOOL: Any = {"type": "function", "function": {"name": "tide", "parameters": {"type": "object"}}}
FOUND = Counter({"device": 20, "redis": 10})
REPORTS = [
    PromptProgress(80, 0, Counter(), "waiting", 0.0, None),
    PromptProgress(80, 30, FOUND, "computing", 0.0, None),
    PromptProgress(80, 60, FOUND, "computing", 0.1812, 0.1),
    PromptProgress(80, 80, FOUND, "computing", 0.3, 0.0),
]
SHOWN = [
    {"total": 80, "cache": 30, "processed": 30, "time_ms": 0},
    {"total": 80, "cache": 30, "processed": 60, "time_ms": 181},
    {"total": 80, "cache": 30, "processed": 80, "time_ms": 300},
]


def report(stream: ReplayedAnswer) -> None:
    """Have the engine report the progress of a held request, as for a prompt of four steps."""
    assert stream.progress_every == 0.0
    for progress in REPORTS:
        stream.put(RequestOutput(request_id=stream.request_id, text="", token_ids=(), progress=(progress,)))


async def chunks_of(api: Api, asked: Any) -> list[Any]:
    """Return the chunks of a stream whose prompts are reported on before the first token."""
    api.engine.hold()
    stream = await asked
    for each in api.engine.requests:
        if each.params.choice == 0:
            report(each)
    api.engine.allow(None)
    async with asyncio.timeout(20):
        return [chunk async for chunk in stream]


def progress_of(chunks: list[Any]) -> list[dict[str, Any]]:
    """Return the reports in a stream, in which none may follow the first text."""
    kinds = ["prompt_progress" in chunk.to_dict() for chunk in chunks]
    assert kinds.index(True) + sum(kinds) <= kinds.index(False, kinds.index(True))
    return [chunk.to_dict() for chunk in chunks if "prompt_progress" in chunk.to_dict()]


@row("openai", "chat.completions.create(stream=True, extra_body={'return_progress': True})", "chunks with "
     "`prompt_progress` before the text, also with tools")  # fmt: skip
@pytest.mark.parametrize("fields", [{}, {"tools": [TOOL]}, {"tools": [TOOL], "tool_choice": "none"}])
async def test_chat_stream_reports_progress_before_the_text(
    client: AsyncOpenAI, api: Api, fields: dict[str, Any]
) -> None:
    messages: list[Any] = [{"role": "user", "content": "hi"}]
    asked = client.chat.completions.create(model="fake-1", messages=messages, stream=True, extra_body=ASKED, **fields)
    chunks = await chunks_of(api, asked)
    reports = progress_of(chunks)
    assert [each["prompt_progress"] for each in reports] == SHOWN
    unbegun = {"index": 0, "delta": {"role": "assistant", "content": None}, "finish_reason": None}
    assert all(each["choices"] == [unbegun] for each in reports)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == WHOLE_ANSWER


@pytest.mark.parametrize("more", [{}, {"echo": True}, {"echo": True, "logprobs": 1}, {"n": 2}])
async def test_completion_streams_report_progress(client: AsyncOpenAI, api: Api, more: dict[str, Any]) -> None:
    asked = client.completions.create(model="fake-1", prompt="hi", max_tokens=3, stream=True, extra_body=ASKED, **more)
    chunks = await chunks_of(api, asked)
    assert [each["prompt_progress"] for each in progress_of(chunks)] == SHOWN
    texts = ["".join(chunk.choices[0].text for chunk in chunks if chunk.choices[0].index == at) for at in range(2)]
    assert texts[0] == ("hi" if "echo" in more else "") + " w0 w1 w2"
    assert texts[1] == (" w100 w101 w102" if "n" in more else "")


async def test_stream_of_a_scored_prompt_reports_progress(client: AsyncOpenAI, api: Api) -> None:
    scored: dict[str, Any] = {"echo": True, "logprobs": 1, "max_tokens": 0}
    asked = client.completions.create(model="fake-1", prompt="hi", stream=True, extra_body=ASKED, **scored)
    chunks = await chunks_of(api, asked)
    assert [each["prompt_progress"] for each in progress_of(chunks)] == SHOWN
    assert "".join(chunk.choices[0].text for chunk in chunks) == "hi"


async def test_each_prompt_has_its_own_progress(client: AsyncOpenAI, api: Api) -> None:
    asked = client.completions.create(
        model="fake-1", prompt=["a", "b"], n=2, max_tokens=1, stream=True, extra_body=ASKED
    )
    chunks = await chunks_of(api, asked)
    reports = [chunk.to_dict() for chunk in chunks if "prompt_progress" in chunk.to_dict()]
    assert Counter(each["choices"][0]["index"] for each in reports) == {0: 3, 2: 3}


@row("openai", "responses.create(stream=True, extra_body={'return_progress': True})", "`prompt_progress` in further "
     "events `response.in_progress`, also with tools")  # fmt: skip
@pytest.mark.parametrize("fields", [{}, {"tools": [{"type": "function", **TOOL["function"]}]}])
async def test_responses_stream_reports_progress_under_last_number(
    client: AsyncOpenAI, api: Api, fields: dict[str, Any]
) -> None:
    asked = client.responses.create(model="fake-1", input="hi", stream=True, extra_body=ASKED, **fields)
    events = await chunks_of(api, asked)
    reports = progress_of(events)
    assert [each["prompt_progress"] for each in reports] == SHOWN
    assert {(each["type"], each["sequence_number"], each["response"]["status"]) for each in reports} == {
        ("response.in_progress", 1, "in_progress")
    }
    assert [event.sequence_number for event in events if event.type != "response.in_progress"][:3] == [0, 2, 3]
    assert events[-1].response.output_text == WHOLE_ANSWER


@pytest.mark.parametrize("fields", [{}, {"return_progress": False}, {"return_progress": True, "stream": False}])
async def test_request_without_the_field_or_stream_is_not_followed(
    client: AsyncOpenAI, api: Api, fields: dict[str, Any]
) -> None:
    messages: list[Any] = [{"role": "user", "content": "hi"}]
    await client.chat.completions.create(model="fake-1", messages=messages, extra_body=fields)
    await client.responses.create(model="fake-1", input="hi", extra_body=fields)
    assert [each.progress_every for each in api.engine.requests] == [None, None]


async def test_reports_of_others_are_no_part_of_a_response(client: AsyncOpenAI, api: Api) -> None:
    api.engine.hold()
    stream = await client.responses.create(model="fake-1", input="hi", stream=True)
    [asked] = api.engine.requests
    asked.put(RequestOutput(request_id=asked.request_id, text="", token_ids=(), progress=(REPORTS[1],)))
    api.engine.allow(None)
    async with asyncio.timeout(20):
        events = [event.to_dict() async for event in stream]
    assert not any("prompt_progress" in event for event in events)
