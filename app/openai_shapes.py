"""The two answer formats of OpenAI's API, as chunks of a stream and as a whole."""

import time
from abc import ABC, abstractmethod
from typing import Any

from app.error_responses import error_body
from app.ids import new_id
from app.sse import DONE_FRAME, data_frame, encode_json
from app.usage import openai_usage
from engine.errors import EbbError
from engine.outputs import FinishReason, RequestOutput


class _Shape(ABC):
    """One answer. Everything of a chunk but its text is encoded once."""

    id_prefix: str
    object_name: str
    chunk_name: str

    def __init__(self, *, model: str, fingerprint: str, include_usage: bool = False) -> None:
        """include_usage: whether a stream ends with a chunk of usage."""
        self._head = {
            "id": new_id(self.id_prefix),
            "object": self.object_name,
            "created": int(time.time()),
            "model": model,
            "system_fingerprint": fingerprint,
        }
        self._include_usage = include_usage
        mark = "\0"
        before, _, after = self._chunk([self._choice(self._content(mark), None)]).partition(encode_json(mark).encode())
        self._before_text, self._after_text = before, after

    def text(self, text: str) -> bytes:
        """One chunk."""
        return self._before_text + encode_json(text).encode() + self._after_text

    def reasoning(self, text: str) -> bytes:
        """One chunk of thoughts."""
        return self._chunk([self._choice(self._thought(text), None)])

    def ending(self, last: RequestOutput) -> bytes:
        """The reason, the usage if it was asked for, and OpenAI's mark of the end."""
        frame = self._chunk([self._choice(self._no_content(), last.finish_reason)])
        if self._include_usage:
            frame += data_frame({**self._head, "object": self.chunk_name, "choices": [], "usage": _usage(last)})
        return frame + DONE_FRAME

    def failure(self, error: EbbError) -> bytes:
        """What OpenAI's clients raise as an error."""
        return data_frame({"error": error_body(error)})

    def whole(self, text: str, reasoning: str, last: RequestOutput) -> dict[str, Any]:
        """The body."""
        choice = self._choice(self._message(text, reasoning), last.finish_reason)
        return {**self._head, "choices": [choice], "usage": _usage(last)}

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

    @abstractmethod
    def _content(self, text: str) -> dict[str, Any]:
        """A choice's text in a chunk."""

    @abstractmethod
    def _thought(self, text: str) -> dict[str, Any]:
        """What was thought, in a chunk."""

    @abstractmethod
    def _no_content(self) -> dict[str, Any]:
        """The same in the chunk that says why the answer ended."""

    @abstractmethod
    def _message(self, text: str, reasoning: str) -> dict[str, Any]:
        """A choice's text in the body."""


class ChatShape(_Shape):
    """chat.completion and chat.completion.chunk.

    Thoughts come as `reasoning_content`, where DeepSeek has them; an answer without any has no such field.
    """

    id_prefix = "chatcmpl"
    object_name = "chat.completion"
    chunk_name = "chat.completion.chunk"

    def opening(self) -> bytes:
        """Tells the role."""
        return self._chunk([self._choice({"delta": {"role": "assistant", "content": ""}}, None)])

    def _content(self, text: str) -> dict[str, Any]:
        return {"delta": {"content": text}}

    def _thought(self, text: str) -> dict[str, Any]:
        return {"delta": {"reasoning_content": text}}

    def _no_content(self) -> dict[str, Any]:
        return {"delta": {}}

    def _message(self, text: str, reasoning: str) -> dict[str, Any]:
        thought = {"reasoning_content": reasoning} if reasoning else {}
        return {"message": {"role": "assistant", "content": text, "refusal": None, **thought}}


class TextShape(_Shape):
    """text_completion, whose chunks bear the same name. Thoughts are text like any other here."""

    id_prefix = "cmpl"
    object_name = "text_completion"
    chunk_name = "text_completion"

    def opening(self) -> bytes:
        """Nothing."""
        return b""

    def _content(self, text: str) -> dict[str, Any]:
        return {"text": text}

    def _thought(self, text: str) -> dict[str, Any]:
        return {"text": text}

    def _no_content(self) -> dict[str, Any]:
        return {"text": ""}

    def _message(self, text: str, reasoning: str) -> dict[str, Any]:
        return {"text": reasoning + text}


def _usage(last: RequestOutput) -> dict[str, Any]:
    assert last.usage is not None
    return openai_usage(last.usage)
