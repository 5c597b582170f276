"""The answer format of Anthropic's API, as events of a stream and as a whole.

Source: https://docs.anthropic.com/en/api/messages and .../messages-streaming. An answer is one block of text.
"""

from typing import Any

from app.anthropic_errors import anthropic_error
from app.ids import new_id
from app.sse import encode_json, typed_frame
from app.usage import anthropic_usage
from engine.errors import EbbError
from engine.outputs import RequestOutput


class MessageShape:
    """One answer. Everything of a text's event but the text is encoded once."""

    def __init__(self, *, model: str, prompt_tokens: int, max_tokens: int, request_id: str) -> None:
        """max_tokens: what the client asked for, which may be more than the window leaves."""
        self._prompt_tokens = prompt_tokens
        self._max_tokens = max_tokens
        self._request_id = request_id
        self._head = {"id": new_id("msg"), "type": "message", "role": "assistant", "model": model}
        mark = "\0"
        before, _, after = _text_delta(mark).partition(encode_json(mark).encode())
        self._before_text, self._after_text = before, after

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
        return (
            typed_frame({"type": "message_start", "message": message})
            + typed_frame({"type": "content_block_start", "index": 0, "content_block": _text_block("")})
            + typed_frame({"type": "ping"})
        )

    def step(self, output: RequestOutput) -> bytes:
        """One event, if it has text; thoughts are told to those who ask for them, which is not supported."""
        return self._before_text + encode_json(output.text).encode() + self._after_text if output.text else b""

    def ending(self, last: RequestOutput) -> bytes:
        """The end of the text, why it ended with all usage, and the end of the message."""
        return (
            typed_frame({"type": "content_block_stop", "index": 0})
            + typed_frame({"type": "message_delta", "delta": self._stop(last), "usage": _usage(last)})
            + typed_frame({"type": "message_stop"})
        )

    def failure(self, error: EbbError) -> bytes:
        """What Anthropic's clients raise as an error."""
        return typed_frame(anthropic_error(error, self._request_id))

    def whole(self, answer: RequestOutput) -> dict[str, Any]:
        """The body."""
        return {**self._head, "content": [_text_block(answer.text)], **self._stop(answer), "usage": _usage(answer)}

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


def _text_delta(text: str) -> bytes:
    delta = {"type": "text_delta", "text": text}
    return typed_frame({"type": "content_block_delta", "index": 0, "delta": delta})


def _usage(last: RequestOutput) -> dict[str, Any]:
    assert last.usage is not None
    return anthropic_usage(last.usage)
