"""The answer format of Anthropic's API, as events of a stream and as a whole.

Source: https://docs.anthropic.com/en/api/messages and .../messages-streaming. An answer is one block of text, behind
one of thoughts where the client asked for them, and before those of its calls.
"""

import json
from dataclasses import replace
from typing import Any, Final, Literal, TypedDict, Unpack

from app.anthropic_errors import anthropic_error
from app.ids import new_id
from app.sse import encode_json, typed_frame
from app.usage import anthropic_usage
from engine.errors import EbbError
from engine.outputs import RequestOutput
from models.tool_calls import Parsed, ToolCall, ToolCallParser

ToldThoughts = Literal["none", "omitted", "told"]
"""omitted: that there were thoughts, and not which."""
Kind = Literal["thinking", "text", "tool_use"]

SIGNATURE: Final = "unsigned"
"""Clients send thoughts back with it, and leave those out that have none. It proves nothing: no thought is part of a
later prompt, so nobody gains anything by making one up."""


class MessageHead(TypedDict):
    """What is known of an answer before its first token. max_tokens: what the client asked for, which may be more than
    the window leaves."""

    model: str
    prompt_tokens: int
    max_tokens: int
    request_id: str
    thoughts: ToldThoughts


class MessageShape:
    """One answer. Everything of a delta's event but the text is encoded once."""

    def __init__(self, **head: Unpack[MessageHead]) -> None:
        self._prompt_tokens = head["prompt_tokens"]
        self._max_tokens = head["max_tokens"]
        self._request_id = head["request_id"]
        self._thoughts = head["thoughts"]
        self._head = {"id": new_id("msg"), "type": "message", "role": "assistant", "model": head["model"]}
        self._block: Kind | None = None
        self._index = -1
        self._around_text = (b"", b"")

    def opening(self) -> bytes:
        """The message without its content. What of the prompt came from a tier is said at the end."""
        usage = {
            "input_tokens": self._prompt_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 0,
        }
        message: dict[str, Any] = {
            **self._head,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        return typed_frame({"type": "message_start", "message": message})

    def step(self, output: RequestOutput) -> bytes:
        """What was thought, for who asked for it, and what was said, behind the events that begin their blocks."""
        events = b""
        if output.reasoning and self._thoughts != "none":
            events += self._at("thinking") + (self._delta(output.reasoning) if self._thoughts == "told" else b"")
        return events + self._at("text") + self._delta(output.text) if output.text else events

    def ending(self, last: RequestOutput) -> bytes:
        """The end of the last block, why the answer ended with all usage, and the end of the message."""
        return (
            (self._at("text") if self._index < 0 else b"")
            + self._end_of_block()
            + typed_frame({"type": "message_delta", "delta": self._stop(last), "usage": _usage(last)})
            + typed_frame({"type": "message_stop"})
        )

    def _at(self, kind: Kind) -> bytes:
        """The events between the last one and a delta in a block of this kind."""
        if self._block == kind:
            return b""
        block = _text_block("") if kind == "text" else {**_thinking_block(""), "signature": ""}
        begun = self._begin_block(kind, block)
        mark = "\0"
        delta = _event("content_block_delta", self._index, delta={"type": f"{kind}_delta", kind: mark})
        before, _, after = delta.partition(encode_json(mark).encode())
        self._around_text = (before, after)
        return begun

    def _begin_block(self, kind: Kind, block: dict[str, Any]) -> bytes:
        ended = self._end_of_block()
        self._block = kind
        self._index += 1
        begun = _event("content_block_start", self._index, content_block=block)
        return ended + begun if self._index else begun + typed_frame({"type": "ping"})

    def _delta(self, text: str) -> bytes:
        before, after = self._around_text
        return before + encode_json(text).encode() + after

    def _end_of_block(self) -> bytes:
        if self._block is None:
            return b""
        end = _event("content_block_stop", self._index)
        if self._block != "thinking":
            return end
        return (
            _event("content_block_delta", self._index, delta={"type": "signature_delta", "signature": SIGNATURE}) + end
        )

    def failure(self, error: EbbError) -> bytes:
        """What Anthropic's clients raise as an error."""
        return typed_frame(anthropic_error(error, self._request_id))

    def whole(self, answer: RequestOutput) -> dict[str, Any]:
        """The body."""
        content = self._content(answer) or [_text_block("")]
        return {**self._head, "content": content, **self._stop(answer), "usage": _usage(answer)}

    def _content(self, answer: RequestOutput) -> list[dict[str, Any]]:
        """The blocks that have something in them."""
        content = []
        if answer.reasoning and self._thoughts != "none":
            content.append(_thinking_block(answer.reasoning if self._thoughts == "told" else ""))
        if answer.text:
            content.append(_text_block(answer.text))
        return content

    def _stop(self, last: RequestOutput) -> dict[str, str | None]:
        return {"stop_reason": self._stop_reason(last), "stop_sequence": last.stop_string}

    def _stop_reason(self, last: RequestOutput) -> str:
        if last.stop_string is not None:
            return "stop_sequence"
        if last.finish_reason == "stop":
            return "end_turn"
        assert last.usage is not None
        # Anthropic's clients know a closed set of reasons: a timeout, too, is a limit that the request set itself.
        if last.finish_reason == "timeout" or last.usage.completion_tokens >= self._max_tokens:
            return "max_tokens"
        return "model_context_window_exceeded"


class ToolUseShape(MessageShape):
    """As MessageShape, with a block for each call. A call comes when it is whole, its input in one piece."""

    def __init__(self, parser: ToolCallParser, **head: Unpack[MessageHead]) -> None:
        """parser: for the calls of this answer."""
        super().__init__(**head)
        self._parser = parser
        self._has_called = False

    def step(self, output: RequestOutput) -> bytes:
        """No text while it may be a call, or is part of one."""
        parsed = self._parser.push(output.text)
        return super().step(replace(output, text=parsed.text)) + self._blocks(parsed)

    def ending(self, last: RequestOutput) -> bytes:
        """With what was held back before it."""
        parsed = self._parser.finish()
        rest = RequestOutput(last.request_id, parsed.text, ())
        return super().step(rest) + self._blocks(parsed) + super().ending(last)

    def _content(self, answer: RequestOutput) -> list[dict[str, Any]]:
        parsed = self._parser.whole(answer.text)
        self._has_called = bool(parsed.calls)
        calls = [{**_tool_use_block(call), "input": json.loads(call.arguments)} for call in parsed.calls]
        return [*super()._content(replace(answer, text=parsed.text)), *calls]

    def _blocks(self, parsed: Parsed) -> bytes:
        self._has_called |= bool(parsed.calls)
        events = b""
        for call in parsed.calls:
            delta = {"type": "input_json_delta", "partial_json": call.arguments}
            events += self._begin_block("tool_use", _tool_use_block(call))
            events += _event("content_block_delta", self._index, delta=delta)
        return events

    def _stop_reason(self, last: RequestOutput) -> str:
        reason = super()._stop_reason(last)
        return "tool_use" if reason == "end_turn" and self._has_called else reason


def _tool_use_block(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": new_id("toolu"), "name": call.name, "input": {}}


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _thinking_block(thinking: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": thinking, "signature": SIGNATURE}


def _event(kind: str, index: int, **fields: dict[str, Any]) -> bytes:
    return typed_frame({"type": kind, "index": index, **fields})


def _usage(last: RequestOutput) -> dict[str, Any]:
    assert last.usage is not None
    return anthropic_usage(last.usage)
