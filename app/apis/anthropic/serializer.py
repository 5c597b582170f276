"""Serializer for Anthropic's answer format, as events of a stream and as one body.

Source: https://docs.anthropic.com/en/api/messages and .../messages-streaming. An answer is one text block. A thinking
block precedes it if the client asked for one. An answer that calls tools has a block for each text and each call, in
order.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, NotRequired, TypedDict, Unpack

from app.apis.call_arguments import arguments_object
from app.domain.records import new_id
from app.http.error_formats import anthropic_error
from app.prompts.volatile_lines import TreatedLines
from app.runs.usage import anthropic_usage
from app.transport.frames import EVENTS, TextFrame
from app.transport.sse import typed_frame
from engine.api.errors import EbbError
from engine.api.outputs import RequestOutput
from models.chat.tool_call_parser import ToolCallParser
from models.chat.tool_calls import AnswerEvent, ArgumentsPiece, CallEnd, CallStart, TextPiece, ToolCall

ShownThoughts = Literal["none", "omitted", "shown"]
"""omitted: show that the model thought, but not the text."""
Kind = Literal["thinking", "text", "tool_use", "server_tool_use", "tool_search_tool_result"]

SIGNATURE: Final = "unsigned"
"""Signature of every thinking block. Clients send a block back with its signature, and drop blocks without one. The
signature proves nothing: reasoning is never part of a later prompt, so forging it gains a client nothing.
"""


class MessageHead(TypedDict):
    """Facts about an answer that are known before its first token.

    max_tokens: the number that the client asked for, which may be more than the context window leaves. An answer of 0
        has no block.
    lines: volatile lines that were treated in the prompt, for the receipt.
    diagnostics: the field of the same name, where the request asks for it.
    """

    id: str
    model: str
    prompt_tokens: int
    max_tokens: int
    request_id: str
    thoughts: ShownThoughts
    lines: TreatedLines
    diagnostics: NotRequired[dict[str, Any] | None]


class MessageShape:
    """Serializer of one answer. The constant parts of a delta event are encoded once."""

    framing = EVENTS

    def __init__(self, **head: Unpack[MessageHead]) -> None:
        self._prompt_tokens = head["prompt_tokens"]
        self._max_tokens = head["max_tokens"]
        self._request_id = head["request_id"]
        self._thoughts = head["thoughts"]
        self._lines = head["lines"]
        asked = {name: value for name, value in head.items() if name == "diagnostics"}
        self._head = {"id": head["id"], "type": "message", "role": "assistant", "model": head["model"], **asked}
        self._block: Kind | None = None
        self._index = -1
        self._has_begun = False
        self._delta_frame: TextFrame | None = None

    def opening(self) -> bytes:
        """Return nothing: a stream begins with its first token, when it is known what was cached."""
        return b""

    def step(self, output: RequestOutput) -> bytes:
        """Return deltas for the reasoning, if the client asked for it, and the text, preceded by block start events."""
        events = self._begun(output)
        if output.reasoning and self._thoughts != "none":
            events += self._at("thinking") + (self._delta(output.reasoning) if self._thoughts == "shown" else b"")
        return events + self._at("text") + self._delta(output.text) if output.text else events

    def _begun(self, first: RequestOutput) -> bytes:
        """Return the message without content, unless it was sent before."""
        if self._has_begun:
            return b""
        self._has_begun = True
        cached = first.usage.kv.cached if first.usage is not None else first.cached or 0
        usage = {
            "input_tokens": self._prompt_tokens - cached,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": cached,
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

    def ending(self, last: RequestOutput) -> bytes:
        """Return the end of the last block, the stop reason with the final usage, and the end of the message."""
        return (
            (self._at("text") if self._index < 0 and self._max_tokens else b"")
            + self._end_of_block()
            + typed_frame({"type": "message_delta", "delta": self._stop(last), "usage": self._usage(last)})
            + typed_frame({"type": "message_stop"})
        )

    def _at(self, kind: Kind) -> bytes:
        """Return the events that must precede a delta in a block of `kind`."""
        if self._block == kind:
            return b""
        block = _text_block("") if kind == "text" else {**_thinking_block(""), "signature": ""}
        return self._begin_block(kind, block, lambda mark: {"type": f"{kind}_delta", kind: mark})

    def _begin_block(self, kind: Kind, block: dict[str, Any], delta: Callable[[str], dict[str, str]]) -> bytes:
        """Return the events that end the last block and begin another. `delta` makes the delta of a text in it."""
        ended = self._end_of_block()
        self._block = kind
        self._index += 1
        begun = _event("content_block_start", self._index, content_block=block)
        self._delta_frame = TextFrame(lambda text: _event("content_block_delta", self._index, delta=delta(text)))
        return ended + begun if self._index else begun + typed_frame({"type": "ping"})

    def _delta(self, text: str) -> bytes:
        assert self._delta_frame is not None
        return self._delta_frame.encode(text)

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
        """Return the error event, which Anthropic's clients raise."""
        return typed_frame(anthropic_error(error, self._request_id))

    def whole(self, answer: RequestOutput) -> dict[str, Any]:
        """Return the response body."""
        content = self._content(answer) or [_text_block("")] * bool(self._max_tokens)
        return {**self._head, "content": content, **self._stop(answer), "usage": self._usage(answer)}

    def _content(self, answer: RequestOutput) -> list[dict[str, Any]]:
        """Return the blocks that are not empty."""
        content = []
        if answer.reasoning and self._thoughts != "none":
            content.append(_thinking_block(answer.reasoning if self._thoughts == "shown" else ""))
        if answer.text:
            content.append(_text_block(answer.text))
        return content

    def _usage(self, last: RequestOutput) -> dict[str, Any]:
        assert last.usage is not None
        return anthropic_usage(last.usage, self._lines)

    def _stop(self, last: RequestOutput) -> dict[str, str | None]:
        return {"stop_reason": self._stop_reason(last), "stop_sequence": last.stop_string}

    def _stop_reason(self, last: RequestOutput) -> str:
        if last.stop_string is not None:
            return "stop_sequence"
        if last.finish_reason == "stop":
            return "end_turn"
        assert last.usage is not None
        # Anthropic's clients know a closed set of reasons. A timeout, too, is a limit that the request set itself.
        if last.finish_reason == "timeout" or last.usage.completion_tokens >= self._max_tokens:
            return "max_tokens"
        return "model_context_window_exceeded"


class ToolUseShape(MessageShape):
    """MessageShape with a block for each tool call, whose input is streamed as the model writes it.

    In a stream, the input of a cut call is the beginning of an object. A whole answer has such a call as text.
    """

    def __init__(self, parser: ToolCallParser, **head: Unpack[MessageHead]) -> None:
        """Make the serializer. `parser` finds the calls of this answer."""
        super().__init__(**head)
        self._parser = parser
        self._num_calls = 0
        self._all_complete = True

    def step(self, output: RequestOutput) -> bytes:
        """Return the events of a step. Text that is, or may become, part of a call is held back."""
        events = self._parser.push(output.text)
        return super().step(output.with_text("")) + self._blocks(events)

    def ending(self, last: RequestOutput) -> bytes:
        """Return the text that was held back, the end of a cut call, and the end of the answer."""
        return self._blocks(self._parser.finish(last.cut_before)) + super().ending(last)

    def _content(self, answer: RequestOutput) -> list[dict[str, Any]]:
        parsed = self._parser.whole(answer.text, answer.cut_before, only_complete=True)
        self._num_calls += len(parsed.calls)
        self._all_complete &= not self._parser.has_incomplete
        blocks = [_text_block(part) if isinstance(part, str) else self._whole_call(part) for part in parsed.parts]
        return [*super()._content(answer.with_text("")), *blocks]

    def _whole_call(self, call: ToolCall) -> dict[str, Any]:
        return {**_tool_use_block(call.name), "input": arguments_object(call)}

    def _blocks(self, events: Iterable[AnswerEvent]) -> bytes:
        return b"".join(self._piece(event) for event in events)

    def _piece(self, event: AnswerEvent) -> bytes:
        match event:
            case TextPiece(text):
                return self._at("text") + self._delta(text)
            case CallStart(name):
                return self._begin_call(name)
            case ArgumentsPiece(text):
                return self._delta(text)
            case CallEnd(is_complete):
                self._all_complete &= is_complete
        return b""

    def _begin_call(self, name: str) -> bytes:
        """Return the events that precede the input of a call."""
        self._num_calls += 1
        return self._begin_input("tool_use", _tool_use_block(name))

    def _begin_input(self, kind: Kind, block: dict[str, Any]) -> bytes:
        return self._begin_block(kind, block, lambda mark: {"type": "input_json_delta", "partial_json": mark})

    def _stop_reason(self, last: RequestOutput) -> str:
        reason = super()._stop_reason(last)
        # Clients run the tools of an answer with this reason. A call without all of its input must not be run.
        return "tool_use" if reason == "end_turn" and self._num_calls and self._all_complete else reason


def _tool_use_block(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": new_id("toolu"), "name": name, "input": {}}


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _thinking_block(thinking: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": thinking, "signature": SIGNATURE}


def _event(kind: str, index: int, **fields: dict[str, Any]) -> bytes:
    return typed_frame({"type": kind, "index": index, **fields})
