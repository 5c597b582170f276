"""The two answer formats of OpenAI's API, as chunks of a stream and as a whole."""

from typing import Any, Protocol

from app.sse import data_frame, encode_json
from app.usage import openai_usage
from engine.outputs import FinishReason, Usage


class AnswerShape(Protocol):
    """Frames of one stream, or the body of one answer."""

    def opening(self) -> bytes:
        """What comes before the first text; may be empty."""

    def text(self, text: str) -> bytes:
        """One step's text."""

    def finish(self, reason: FinishReason) -> bytes:
        """Why it ended."""

    def usage(self, usage: Usage) -> bytes:
        """The extra chunk that `stream_options.include_usage` asks for."""

    def whole(self, text: str, reason: FinishReason, usage: Usage) -> dict[str, Any]:
        """The answer that is not streamed."""


class _Shape:
    """One answer. Everything of a chunk but its text is encoded once."""

    object_name: str
    chunk_name: str

    def __init__(
        self, answer_id: str, *, created: int, model: str, fingerprint: str, include_usage: bool = False
    ) -> None:
        self._head = {
            "id": answer_id,
            "object": self.object_name,
            "created": created,
            "model": model,
            "system_fingerprint": fingerprint,
        }
        self._include_usage = include_usage
        mark = "\0"
        before, _, after = self._chunk([self._choice(self._content(mark), None)]).partition(encode_json(mark).encode())
        self._before_text, self._after_text = before, after

    def text(self, text: str) -> bytes:
        return self._before_text + encode_json(text).encode() + self._after_text

    def finish(self, reason: FinishReason) -> bytes:
        return self._chunk([self._choice(self._no_content(), reason)])

    def usage(self, usage: Usage) -> bytes:
        return data_frame({**self._head, "object": self.chunk_name, "choices": [], "usage": openai_usage(usage)})

    def _chunk(self, choices: list[dict[str, Any]]) -> bytes:
        # OpenAI sends a null usage with every chunk of a stream that will end with one.
        usage = {"usage": None} if self._include_usage else {}
        return data_frame({**self._head, "object": self.chunk_name, "choices": choices, **usage})

    @staticmethod
    def _choice(content: dict[str, Any], reason: FinishReason | None) -> dict[str, Any]:
        choice = {"index": 0, **content, "logprobs": None, "finish_reason": reason}
        if reason == "timeout":
            # OpenAI's clients know a closed set of reasons: this, too, is an answer cut by a limit.
            choice |= {"finish_reason": "length", "stop_reason": "timeout"}
        return choice

    def _content(self, text: str) -> dict[str, Any]:
        raise NotImplementedError

    def _no_content(self) -> dict[str, Any]:
        raise NotImplementedError


class ChatShape(_Shape):
    """chat.completion and chat.completion.chunk."""

    object_name = "chat.completion"
    chunk_name = "chat.completion.chunk"

    def opening(self) -> bytes:
        """Tells the role."""
        return self._chunk([self._choice({"delta": {"role": "assistant", "content": ""}}, None)])

    def whole(self, text: str, reason: FinishReason, usage: Usage) -> dict[str, Any]:
        """The body."""
        message = {"role": "assistant", "content": text, "refusal": None}
        return {**self._head, "choices": [self._choice({"message": message}, reason)], "usage": openai_usage(usage)}

    def _content(self, text: str) -> dict[str, Any]:
        return {"delta": {"content": text}}

    def _no_content(self) -> dict[str, Any]:
        return {"delta": {}}


class TextShape(_Shape):
    """text_completion, whose chunks bear the same name."""

    object_name = "text_completion"
    chunk_name = "text_completion"

    def opening(self) -> bytes:
        """Nothing."""
        return b""

    def whole(self, text: str, reason: FinishReason, usage: Usage) -> dict[str, Any]:
        """The body."""
        return {**self._head, "choices": [self._choice({"text": text}, reason)], "usage": openai_usage(usage)}

    def _content(self, text: str) -> dict[str, Any]:
        return {"text": text}

    def _no_content(self) -> dict[str, Any]:
        return {"text": ""}
