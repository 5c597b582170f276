"""The answer format of Anthropic's API, as events of a stream and as a whole.

Source: https://docs.anthropic.com/en/api/messages and .../messages-streaming. An answer is one block of text, behind
one of thoughts where the client asked for them.
"""

from typing import Any, Final, Literal

from app.anthropic_errors import anthropic_error
from app.ids import new_id
from app.sse import encode_json, typed_frame
from app.usage import anthropic_usage
from engine.errors import EbbError
from engine.outputs import RequestOutput

ToldThoughts = Literal["none", "omitted", "told"]
"""omitted: that there were thoughts, and not which."""
Kind = Literal["thinking", "text"]

SIGNATURE: Final = "unsigned"
"""Clients send thoughts back with it, and leave those out that have none. It proves nothing: no thought is part of a
later prompt, so nobody gains anything by making one up."""


class MessageShape:
    """One answer. Everything of a delta's event but the text is encoded once."""

    def __init__(
        self, *, model: str, prompt_tokens: int, max_tokens: int, request_id: str, thoughts: ToldThoughts
    ) -> None:
        """max_tokens: what the client asked for, which may be more than the window leaves."""
        self._prompt_tokens = prompt_tokens
        self._max_tokens = max_tokens
        self._request_id = request_id
        self._thoughts = thoughts
        self._head = {"id": new_id("msg"), "type": "message", "role": "assistant", "model": model}
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
            (self._at("text") if self._block is None else b"")
            + self._end_of_block()
            + typed_frame({"type": "message_delta", "delta": self._stop(last), "usage": _usage(last)})
            + typed_frame({"type": "message_stop"})
        )

    def _at(self, kind: Kind) -> bytes:
        """The events between the last one and a delta in a block of this kind."""
        if self._block == kind:
            return b""
        ended = self._end_of_block()
        self._block = kind
        self._index += 1
        mark = "\0"
        delta = _event("content_block_delta", self._index, delta={"type": f"{kind}_delta", kind: mark})
        before, _, after = delta.partition(encode_json(mark).encode())
        self._around_text = (before, after)
        block = _text_block("") if kind == "text" else {**_thinking_block(""), "signature": ""}
        begun = _event("content_block_start", self._index, content_block=block)
        return ended + begun if self._index else begun + typed_frame({"type": "ping"})

    def _delta(self, text: str) -> bytes:
        before, after = self._around_text
        return before + encode_json(text).encode() + after

    def _end_of_block(self) -> bytes:
        if self._block is None:
            return b""
        end = _event("content_block_stop", self._index)
        if self._block == "text":
            return end
        return (
            _event("content_block_delta", self._index, delta={"type": "signature_delta", "signature": SIGNATURE}) + end
        )

    def failure(self, error: EbbError) -> bytes:
        """What Anthropic's clients raise as an error."""
        return typed_frame(anthropic_error(error, self._request_id))

    def whole(self, answer: RequestOutput) -> dict[str, Any]:
        """The body."""
        content = []
        if answer.reasoning and self._thoughts != "none":
            content.append(_thinking_block(answer.reasoning if self._thoughts == "told" else ""))
        if answer.text or not content:
            content.append(_text_block(answer.text))
        return {**self._head, "content": content, **self._stop(answer), "usage": _usage(answer)}

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


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _thinking_block(thinking: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": thinking, "signature": SIGNATURE}


def _event(kind: str, index: int, **fields: dict[str, Any]) -> bytes:
    return typed_frame({"type": kind, "index": index, **fields})


def _usage(last: RequestOutput) -> dict[str, Any]:
    assert last.usage is not None
    return anthropic_usage(last.usage)
