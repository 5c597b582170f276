"""Streams and bodies of Messages with tool calls, as Anthropic's client accumulates them."""

import json
from typing import Any

import pytest
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import Message, RawMessageStreamEvent
from pydantic import TypeAdapter

from app.apis.anthropic.serializer import MessageHead, ToolUseShape
from app.prompts.volatile_lines import UNTREATED
from engine.api.outputs import FinishReason, KVReceipt, RequestOutput, Usage
from models.chat.tool_format import find_tool_format
from tests.sizes import Size

INPUT = '{"city": "Köln \\u00e9", "days": [12, null], "deep": {"a": "b"}}'
ANSWER = (
    f'So.\n<tool_call>\n{{"name": "weather", "arguments": {INPUT}}}\n</tool_call>\nAnd '
    '<tool_call>\n{"name": "now"}\n</tool_call>\n'
)
CALLS: list[object] = [("weather", json.loads(INPUT)), ("now", {})]
BROKEN = '<tool_call>\n{"name": "t", "arguments": {"a": 1, "p": "\\ud83d"}}\n</tool_call>'
CUT = ANSWER[: ANSWER.index(", null")]
USAGE = Usage(prompt_tokens=1, completion_tokens=1, kv=KVReceipt(computed=1), queue_ms=0.0, ttft_ms=0.0, total_ms=0.0)
EVENTS: TypeAdapter[RawMessageStreamEvent] = TypeAdapter(RawMessageStreamEvent)


def shape() -> ToolUseShape:
    head: MessageHead = {
        "id": "msg_1",
        "model": "m",
        "prompt_tokens": 1,
        "max_tokens": 1,
        "request_id": "r",
        "thoughts": "none",
        "lines": UNTREATED,
    }
    return ToolUseShape(find_tool_format({}, "").parser(), **head)


def last_of(text: str, reason: FinishReason, stop_string: str | None = None) -> RequestOutput:
    return RequestOutput(
        request_id="r", text=text, token_ids=(), finish_reason=reason, usage=USAGE, stop_string=stop_string
    )


def events_of(text: str, reason: FinishReason, size: int = 1, stop_string: str | None = None) -> list[dict[str, Any]]:
    """Stream `text` in pieces of `size` characters, and return the data of the events."""
    stream = shape()
    frames = stream.opening()
    for begin in range(0, len(text), size):
        frames += stream.step(RequestOutput(request_id="r", text=text[begin : begin + size], token_ids=(1,)))
    last = last_of("", reason, stop_string)
    lines = (frames + stream.step(last) + stream.ending(last)).decode().splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def accumulated(events: list[dict[str, Any]]) -> Message:
    message, buffers = None, dict[int, bytes]()
    for event in events:
        if event["type"] != "ping":
            read = EVENTS.validate_python(event)
            message = accumulate_event(event=read, current_snapshot=message, json_bufs=buffers)
    assert message is not None
    return message


def said(message: Message) -> tuple[list[object], str | None]:
    """Return the text, or the name and the input, of each block, and the stop reason."""
    blocks: list[object] = [
        (block.name, block.input) if block.type == "tool_use" else block.to_dict()["text"] for block in message.content
    ]
    return blocks, message.stop_reason


def whole(text: str, reason: FinishReason, stop_string: str | None = None) -> Message:
    return Message.model_validate(shape().whole(last_of(text, reason, stop_string)))


@pytest.mark.parametrize("text", [ANSWER, BROKEN], ids=["valid", "broken"])
@pytest.mark.parametrize("reason", ["length", "timeout", "stop"])
def test_body_of_a_cut_answer_has_complete_calls_of_its_stream(text: str, reason: FinishReason, size: Size) -> None:
    for end in range(0, len(text) + 1, size.pick(small=4, full=1)):
        blocks, why = said(whole(text[:end], reason))
        # The reason changes nothing of the pieces, so each cut has all sizes for one of them.
        lengths = (1, 3, 1000) if reason == "length" else ((1, 3, 1000)[end % 3],)
        [(streamed, why_streamed), *others] = [
            said(accumulated(events_of(text[:end], reason, length))) for length in lengths
        ]
        assert all(other == (streamed, why_streamed) for other in others)
        assert why == why_streamed
        calls = [block for block in blocks if not isinstance(block, str)]
        assert calls == CALLS[: len(calls)]
        complete = [streamed[at] for at in range(len(streamed)) if streamed[at] in CALLS]
        assert calls in (complete, complete[:-1])
        if reason == "stop":
            assert (why == "tool_use") == (bool(calls) and len(calls) == len(streamed) - _num_texts(streamed))


def _num_texts(blocks: list[object]) -> int:
    return sum(isinstance(block, str) for block in blocks)


def test_whole_answer_has_texts_and_calls_in_order() -> None:
    assert said(whole(ANSWER, "stop")) == (["So.\n", CALLS[0], "\nAnd ", CALLS[1]], "tool_use")


def test_cut_call_is_text_and_in_a_stream_what_can_be_read() -> None:
    for before, given in (
        (", null", {"city": "Köln é", "days": []}),
        ("ln", {}),
        ("days", {"city": "Köln é"}),
        ('city"', {}),
        ("{" + '"city', {}),
    ):
        text = ANSWER[: ANSWER.index(before)]
        assert said(whole(text, "length")) == ([text], "max_tokens")
        assert said(accumulated(events_of(text, "length"))) == (["So.\n", ("weather", given)], "max_tokens")
    assert said(whole(ANSWER[:30], "length")) == (["So.\n"], "max_tokens")
    assert said(whole("<tool_call>\n{", "length")) == ([""], "max_tokens")


def test_input_is_streamed_as_valid_json_pieces() -> None:
    deltas = [event["delta"] for event in events_of(ANSWER, "stop") if event["type"] == "content_block_delta"]
    inputs = [delta["partial_json"] for delta in deltas if delta["type"] == "input_json_delta"]
    assert "".join(inputs) == INPUT + "{}"
    assert len(inputs) > 20


def test_reason_asks_for_calls_only_if_all_are_complete() -> None:
    assert said(whole(CUT, "stop", stop_string=", "))[1] == "stop_sequence"
    assert said(whole(CUT, "stop"))[1] == "end_turn"
    assert said(whole(BROKEN, "stop")) == ([BROKEN], "end_turn")
    complete = ANSWER[: ANSWER.index("And")]
    assert said(whole(complete + BROKEN, "stop")) == (["So.\n", CALLS[0], "\n" + BROKEN], "end_turn")
