"""The events of responses that call tools: their numbers, their items, and resumption at any of them."""

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest

from app.apis.responses.events import BEFORE_THE_FIRST, ResponseEvents
from app.apis.responses.output import ResponseSource
from app.apis.responses.replay import Replay
from app.apis.responses.serializer import items_json, output_json
from app.domain.records import Message, MessageStatus
from app.domain.response_record import ResponseRecord, message_id_of_item
from app.domain.token_history import MessageTokens, pack_ids
from app.domain.tool_use import MayCall
from app.runs.run_log import RunLog
from engine.testing.byte_tokenizer import END, START
from engine.testing.replay_engine import ReplayEngine
from models.thinking import MarkedThinking
from tests.sizes import Size

RECORD = ResponseRecord(
    model="m",
    background=True,
    instructions=None,
    previous_response_id=None,
    conversation_id=None,
    max_output_tokens=None,
    metadata={},
)
SMALL = 'Hi<tool_call>{"name":"f","arguments":{"b":"c"}}</tool_call>'
CALLS = (
    '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome", "days": 12}}\n</tool_call>\n'
    '<tool_call>\n{"name": "now"}\n</tool_call>'
)
ANSWER = f"So.\n{CALLS}\nDone."
CUT = ANSWER[: ANSWER.index('me",')]
CUSTOM = 'So.<tool_call>{"name": "run", "arguments": {"input": "a \\"b\\" \\ud83d\\ude00"}}</tool_call>Done.'
THINKING = MarkedThinking(START, END, {"slow": ""})


@dataclass(frozen=True)
class Source:
    answer: Message
    log: RunLog


def answer(text: str, status: MessageStatus = "complete", reasoning: str | None = None) -> Message:
    thought = [START, *reasoning.encode(), END] if reasoning else []
    return Message(
        id="msg_0123",
        conversation_id="conv_1",
        parent_id=None,
        role="assistant",
        content=text,
        status=status,
        created_at=1.0,
        finish_reason="stop" if status == "complete" else "length",
        run_id="run_1",
        reasoning=reasoning,
        tokens=MessageTokens(pack_ids([*thought, *text.encode()]), "key"),
        tool_use=MayCall("hermes", parallel=True, custom=("run",)),
    )


def live(message: Message, size: int = 1) -> Source:
    """Return a source whose deltas have `size` tokens each."""
    text, thought = message.content, message.reasoning or ""
    log = RunLog("run_1", message)
    before = len(thought) + 2 if thought else 0
    for begin in range(0, len(thought), size):
        piece = thought[begin : begin + size]
        log.append(piece, 1 + begin + len(piece), is_thought=True)
    for begin in range(0, len(text), size):
        piece = text[begin : begin + size]
        log.append(piece, before + begin + len(piece))
    log.close(message, before + len(text))
    return Source(message, log)


def replayed(message: Message) -> Replay:
    engine = ReplayEngine()
    engine.chat_format.thinking = THINKING
    return Replay.of(message, engine)


async def events_of(source: ResponseSource, after: int = BEFORE_THE_FIRST) -> list[dict[str, Any]]:
    frames = b"".join([frame async for frame in ResponseEvents(RECORD, source).frames(after)])
    lines = frames.decode().split("\n")
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    ids = [int(line.removeprefix("id: ")) for line in lines if line.startswith("id: ")]
    assert ids == [event["sequence_number"] for event in events]
    return events


def short(events: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """Return the name, without "response.", and the number of each event, without the deltas in between."""
    named = [(event["type"].removeprefix("response."), event["sequence_number"]) for event in events]
    return [each for at, each in enumerate(named) if not each[0].endswith(".delta") or named[at - 1][0] != each[0]]


async def test_numbers_of_a_call_follow_from_the_tokens() -> None:
    message = answer(SMALL)
    assert short(await events_of(live(message))) == [
        ("created", 0),
        ("in_progress", 1),
        ("output_item.added", 2),
        ("content_part.added", 3),
        ("output_text.delta", 3 + 1),
        # The arguments begin with token 38.
        ("output_text.done", 4 + 38),
        ("content_part.done", 5 + 38),
        ("output_item.done", 6 + 38),
        ("output_item.added", 7 + 38),
        ("function_call_arguments.delta", 3 + 38 + 5),
        # They end with token 46.
        ("function_call_arguments.done", 4 + 46 + 5),
        ("output_item.done", 5 + 46 + 5),
        ("completed", 7 + len(SMALL) + 8),
    ]


async def test_input_of_custom_tool_begins_with_its_first_text() -> None:
    events = await events_of(live(answer(CUSTOM)))
    [call] = [item for item in events[-1]["response"]["output"] if item["type"] == "custom_tool_call"]
    assert (call["name"], call["input"], call["status"]) == ("run", 'a "b" \U0001f600', "completed")
    start, end = CUSTOM.index('a \\"') + 1, CUSTOM.index("}") + 1
    numbers = dict(short(events))
    # The three events that end the text, and the one that begins the call, move the numbers by five.
    assert numbers["custom_tool_call_input.delta"] == 3 + start + 5
    assert numbers["custom_tool_call_input.done"] == 4 + end + 5


async def test_call_that_comes_first_is_opened_by_event_2() -> None:
    numbers = short(await events_of(live(answer(CALLS))))
    starts = [CALLS.index("{", CALLS.index("arguments")) + 1, CALLS.index("}", CALLS.index("now")) + 1]
    end = CALLS.index("}") + 1
    assert numbers[2:] == [
        ("output_item.added", 2),
        ("function_call_arguments.delta", 3 + starts[0]),
        ("function_call_arguments.done", 4 + end),
        ("output_item.done", 5 + end),
        ("output_item.added", 3 + starts[1] + 3),
        ("function_call_arguments.delta", 3 + starts[1] + 4),
        ("function_call_arguments.done", 4 + starts[1] + 4),
        ("output_item.done", 5 + starts[1] + 4),
        ("completed", 7 + len(CALLS) + 7),
    ]


@pytest.mark.parametrize("reasoning", [None, "hm"])
@pytest.mark.parametrize(
    ("text", "status"),
    [
        (ANSWER, "complete"),
        (CALLS, "complete"),
        (CUT, "incomplete"),
        (CUSTOM, "complete"),
        (ANSWER[:9], "cancelled"),
        ("", "complete"),
        ("", "incomplete"),
        ("a <to", "complete"),
    ],
)
async def test_stream_resumes_after_every_event(text: str, status: MessageStatus, reasoning: str | None) -> None:
    message = answer(text, status, reasoning)
    events = await events_of(live(message))
    for source in (live(message), replayed(message)):
        assert await events_of(source) == events
        for index, event in enumerate(events):
            assert await events_of(source, event["sequence_number"]) == events[index + 1 :]


async def test_interrupted_stream_keeps_the_number_of_the_last_event() -> None:
    message = replace(answer(ANSWER), status="in_progress")
    for length, after in ((0, BEFORE_THE_FIRST), (1, BEFORE_THE_FIRST), (60, BEFORE_THE_FIRST), (1, 9)):
        log = RunLog("run_1", message)
        for count, character in enumerate(ANSWER[:length], 1):
            log.append(character, count)
        log.interrupt()
        *events, last = await events_of(Source(message, log), after)
        assert last["code"] == "server_restart"
        assert last["sequence_number"] == max(after, *(event["sequence_number"] for event in events), after)


@pytest.mark.parametrize("reasoning", [None, "hm"])
@pytest.mark.parametrize("text", [ANSWER, CUSTOM])
async def test_items_of_a_cut_stream_are_those_of_the_response(text: str, reasoning: str | None, size: Size) -> None:
    for end in range(0, len(text) + 1, size.pick(small=4, full=1)):
        message = answer(text[:end], "incomplete", reasoning)
        for length in (1, 7, 1000):
            events = await events_of(live(message, length))
            numbers = [event["sequence_number"] for event in events]
            assert numbers == sorted(set(numbers))
            done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
            assert done == events[-1]["response"]["output"] == output_json(message)
            assert written(events) == done
            assert "tool_call" not in "".join(part["text"] for item in done for part in item.get("content", []))


def written(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the items that the events add, with the text of their deltas and the status of their ends."""
    items: dict[int, dict[str, Any]] = {}
    for event in events:
        match event["type"].removeprefix("response."):
            case "output_item.added":
                assert event["item"]["status"] == "in_progress"
                assert event["output_index"] == len(items)
                items[event["output_index"]] = event["item"]
            case "content_part.added":
                items[event["output_index"]]["content"].append(event["part"])
            case "function_call_arguments.delta":
                items[event["output_index"]]["arguments"] += event["delta"]
            case "custom_tool_call_input.delta":
                items[event["output_index"]]["input"] += event["delta"]
            case "output_text.delta" | "reasoning_text.delta":
                items[event["output_index"]]["content"][0]["text"] += event["delta"]
            case "output_item.done":
                items[event["output_index"]]["status"] = event["item"]["status"]
    return list(items.values())


@pytest.mark.parametrize("text", [ANSWER, CALLS, CUT, CUSTOM])
async def test_later_numbers_do_not_depend_on_merged_deltas(text: str) -> None:
    message = answer(text, "incomplete")
    single = await events_of(live(message))
    for size in (2, 5, 1000):
        merged = await events_of(live(message, size))
        assert [event["type"] for event in merged if not event["type"].endswith("delta")] == [
            event["type"] for event in single if not event["type"].endswith("delta")
        ]
        assert merged[-1] == single[-1]


def test_answer_in_progress_has_the_call_that_is_being_written() -> None:
    text, call = items_json(answer(CUT, "in_progress"))
    assert (text["status"], text["content"][0]["text"]) == ("completed", "So.\n")
    assert (call["status"], call["name"], call["arguments"]) == ("in_progress", "weather", '{"city": "Ro')
    [_, cut] = items_json(answer(CUT, "incomplete"))
    assert (cut["status"], cut["arguments"]) == ("incomplete", call["arguments"])


def test_items_of_an_answer_belong_to_its_message() -> None:
    message = replace(answer(ANSWER), id="msg_01_2-3")
    items = items_json(message)
    assert [item["type"] for item in items] == ["message", "function_call", "function_call", "message"]
    assert {message_id_of_item(item["id"]) for item in items} == {message.id}
    assert len({item["id"] for item in items}) == len(items)
