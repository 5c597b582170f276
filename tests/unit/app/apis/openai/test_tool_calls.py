"""Streams and bodies of chat completions with tool calls, as OpenAI's client accumulates them."""

import json
from typing import Any

import pytest
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from app.apis.openai.serializer import ChunkFields
from app.apis.openai.tool_calls import ToolCallShape
from app.prompts.tool_offer import NamedChoice, ToolOffer
from engine.api.outputs import FinishReason, KVReceipt, RequestOutput, Usage
from models.chat.tool_format import find_tool_format
from tests.sizes import Size

FORMAT = find_tool_format({}, "")
CITY = '{"city": "Köln \\u00e9", "days": [12, null]}'
ANSWER = (
    f'So.\n<tool_call>\n{{"name": "weather", "arguments": {CITY}}}\n</tool_call>\n'
    '<tool_call>\n{"name": "now"}\n</tool_call>'
)
CUT = ANSWER[: ANSWER.index("öln")]
BROKEN = '<tool_call>\n{"name": "t", "arguments": {"p": "\\ud83d"}}\n</tool_call>'
USAGE = Usage(prompt_tokens=1, completion_tokens=1, kv=KVReceipt(computed=1), queue_ms=0.0, ttft_ms=0.0, total_ms=0.0)

SIZES = (1, 3, 1000)
"""Characters of the pieces in which an answer is streamed."""


def shape(index: int = 0, offer: ToolOffer | None = None) -> ToolCallShape:
    head = ChunkFields.new("chatcmpl", model="m", fingerprint="f")
    return ToolCallShape(FORMAT, offer or ToolOffer(), head, index=index)


def chunks_of(frames: bytes) -> list[dict[str, Any]]:
    return [json.loads(line.removeprefix("data: ")) for line in frames.decode().split("\n\n") if line]


def content_of(frames: bytes) -> list[tuple[int, str, str | None]]:
    """Return (index, text, finish reason) of each chunk."""
    choices = [choice for chunk in chunks_of(frames) for choice in chunk["choices"]]
    return [(choice["index"], choice["delta"].get("content", ""), choice["finish_reason"]) for choice in choices]


def last_of(text: str, reason: FinishReason, stop_string: str | None = None) -> RequestOutput:
    return RequestOutput(
        request_id="r", text=text, token_ids=(), finish_reason=reason, usage=USAGE, stop_string=stop_string
    )


def streamed(text: str, reason: FinishReason, size: int = 1, stop_string: str | None = None) -> ChatCompletion:
    """Stream `text` in pieces of `size` characters, and return what the client's accumulator makes of the chunks."""
    stream, state = shape(), ChatCompletionStreamState()
    frames = stream.opening()
    for begin in range(0, len(text), size):
        frames += stream.step(RequestOutput(request_id="r", text=text[begin : begin + size], token_ids=(1,)))
    for chunk in chunks_of(frames + stream.reason(last_of("", reason, stop_string))):
        state.handle_chunk(ChatCompletionChunk.model_validate(chunk))
    # The final completion of a cut answer is an exception.
    return state.current_completion_snapshot


def said(completion: ChatCompletion) -> tuple[str | None, list[tuple[str, str]], str]:
    """Return the content, name and arguments of each call, and the finish reason."""
    [choice] = completion.choices
    calls = [call.function for call in choice.message.tool_calls or [] if call.type == "function"]
    assert len({call.id for call in choice.message.tool_calls or []}) == len(calls)
    return choice.message.content or None, [(call.name, call.arguments) for call in calls], choice.finish_reason


def whole(text: str, reason: FinishReason, stop_string: str | None = None) -> ChatCompletion:
    return ChatCompletion.model_validate(shape().whole(last_of(text, reason, stop_string)))


def test_held_back_text_precedes_finish_reason_of_its_answer() -> None:
    stream = shape(index=1)
    # The held-back text could have been the start of a call.
    shown = content_of(stream.step(RequestOutput(request_id="r", text="if a <tool", token_ids=())))
    assert shown == [(1, "if a ", None)]
    ended = content_of(stream.reason(RequestOutput(request_id="r", text="", token_ids=(7,), finish_reason="stop")))
    assert ended == [(1, "<tool", None), (1, "", "stop")]


def test_first_chunk_of_a_call_has_its_id_and_name() -> None:
    stream = shape()
    pieces = (CUT, ANSWER[len(CUT) : len(CUT) + 9], ANSWER[len(CUT) + 9 :])
    frames = b"".join(stream.step(RequestOutput(request_id="r", text=piece, token_ids=(1,))) for piece in pieces)
    deltas = [delta for chunk in chunks_of(frames) for delta in chunk["choices"][0]["delta"].get("tool_calls", [])]
    firsts = [delta for delta in deltas if "id" in delta]
    assert [(delta["index"], delta["type"], delta["function"]) for delta in firsts] == [
        (0, "function", {"name": "weather", "arguments": ""}),
        (1, "function", {"name": "now", "arguments": ""}),
    ]
    others = [delta for delta in deltas if "id" not in delta]
    assert len(others) > 3
    assert all(delta.keys() == {"index", "function"} and delta["function"].keys() == {"arguments"} for delta in others)


@pytest.mark.parametrize("text", [ANSWER, BROKEN], ids=["valid", "broken"])
@pytest.mark.parametrize("reason", ["length", "timeout", "stop"])
def test_stream_of_a_cut_answer_equals_its_body(text: str, reason: FinishReason, size: Size) -> None:
    for end in range(0, len(text) + 1, size.pick(small=4, full=1)):
        body = said(whole(text[:end], reason))
        # The reason changes nothing of the pieces, so each cut has all sizes for one of them.
        for length in SIZES if reason == "length" else (SIZES[end % len(SIZES)],):
            assert said(streamed(text[:end], reason, length)) == body


def test_cut_answer_has_partial_arguments_and_no_markup() -> None:
    for end in range(len(ANSWER) + 1):
        content, calls, reason = said(whole(ANSWER[:end], "length"))
        assert reason == "length"
        assert "So.\n".startswith(content or "")
        assert [name for name, _ in calls] == ["weather", "now"][: len(calls)]
        assert all(sent.startswith(part) for (_, part), sent in zip(calls, (CITY, "{}"), strict=False))
    assert said(whole(CUT, "length")) == ("So.\n", [("weather", '{"city": "K')], "length")
    assert said(whole(ANSWER[:30], "length")) == ("So.\n", [], "length")


def test_reason_asks_for_calls_only_if_all_are_complete() -> None:
    assert said(whole(ANSWER, "stop"))[2] == "tool_calls"
    assert said(whole(ANSWER, "stop", stop_string="x"))[2] == "tool_calls"
    assert said(whole(CUT, "stop", stop_string="ö"))[2] == "stop"
    assert said(whole(BROKEN, "stop")) == ('\\ud83d"}}\n', [("t", '{"p": "')], "stop")
    named = ToolOffer(functions=[{"name": "now"}], choice=NamedChoice("now", "tool_choice"))
    assert shape(offer=named).whole(last_of(ANSWER, "stop"))["choices"][0]["finish_reason"] == "stop"


def test_mark_cut_by_a_stop_string_is_not_shown() -> None:
    for stop_string, content in (("_call>", "a "), ("_call", "a "), ("x", "a <tool"), (None, "a <tool")):
        assert said(whole("a <tool", "stop", stop_string))[0] == content
        assert said(streamed("a <tool", "stop", stop_string=stop_string))[0] == content
