"""Serializers of Ollama's two answer formats, as lines of a stream and as one body.

Source: https://docs.ollama.com/api. A stream has a line for each piece of text, each with `done: false`. The last line
has the figures instead of a text.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Any, Literal

from app.apis.call_arguments import arguments_object
from app.apis.ollama.timestamps import timestamp
from app.apis.openai.logprobs import ChatLogprobs, shown_logprobs
from app.domain.records import new_id
from app.http.error_formats import ollama_error
from app.prompts.volatile_lines import UNTREATED, TreatedLines
from app.runs.usage import ollama_usage
from app.transport.frames import JSON_LINES, TextFrame, json_line
from engine.api.errors import EbbError
from engine.api.outputs import RequestOutput
from models.chat.tool_call_parser import ToolCallParser
from models.chat.tool_calls import AnswerEvent, ArgumentsPiece, CallEnd, CallStart, ToolCall, text_of


class OllamaShape(ABC):
    """Serializer of one answer. The constant parts of a text line are encoded once."""

    framing = JSON_LINES

    def __init__(
        self,
        model: str,
        *,
        shows_thoughts: bool = True,
        logprobs: ChatLogprobs | None = None,
        lines: TreatedLines = UNTREATED,
    ) -> None:
        """Make the serializer.

        model: the model's name as the client wrote it.
        shows_thoughts: whether the answer includes the reasoning.
        logprobs: serializes log probabilities; None leaves them out.
        lines: volatile lines that were treated in the prompt, for the receipt.
        """
        self._lines = lines
        self._head = {"model": model, "created_at": timestamp(time.time())}
        self._shows_thoughts = shows_thoughts
        self._logprobs = logprobs
        self._text_line = TextFrame(lambda text: self._line(self._content(text)))

    def without_prompt(self, reason: Literal["load", "unload"]) -> dict[str, Any]:
        """Return the body for a request without a prompt, which clients send to load or to unload a model."""
        return {**self._head, **self._content(""), "done": True, "done_reason": reason}

    def opening(self) -> bytes:
        """Return nothing: a stream begins with its first text."""
        return b""

    def step(self, output: RequestOutput) -> bytes:
        """Return a line of reasoning, a line of text, both, or nothing."""
        lines = b""
        if output.reasoning and self._shows_thoughts:
            lines = self._line(self._content("", output.reasoning))
        if logprobs := self._logprobs_of(output):
            lines += self._line({**self._content(output.text), **logprobs})
        elif output.text:
            lines += self._text_line.encode(output.text)
        return lines

    def ending(self, last: RequestOutput) -> bytes:
        """Return the last line: the reason of the end, and the figures."""
        return json_line({**self._head, **self._content(""), **self._end(last)})

    def failure(self, error: EbbError) -> bytes:
        """Return the error line, which Ollama's clients raise."""
        return json_line(ollama_error(error))

    def whole(self, answer: RequestOutput) -> dict[str, Any]:
        """Return the response body."""
        thinking = answer.reasoning if self._shows_thoughts else ""
        content = self._content(answer.text, thinking)
        return {**self._head, **content, **self._end(answer), **self._logprobs_of(answer)}

    def _end(self, last: RequestOutput) -> dict[str, Any]:
        assert last.usage is not None
        # Ollama's clients know "stop" and "length". A timeout, too, is a limit that cut the answer.
        reason = "stop" if last.finish_reason == "stop" else "length"
        return {"done": True, "done_reason": reason, **ollama_usage(last.usage, self._lines)}

    def _line(self, fields: dict[str, Any]) -> bytes:
        return json_line({**self._head, **fields, "done": False})

    def _logprobs_of(self, output: RequestOutput) -> dict[str, Any]:
        if self._logprobs is None or not output.logprobs:
            return {}
        shown = shown_logprobs(output, ends_with_stop_token=False)
        return {"logprobs": self._logprobs.content(shown)["content"]} if shown else {}

    @abstractmethod
    def _content(self, text: str, thinking: str = "") -> dict[str, Any]:
        """Return the fields of a piece of an answer."""


class OllamaChatShape(OllamaShape):
    """Serializer of a message."""

    def _content(self, text: str, thinking: str = "") -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if thinking:
            message["thinking"] = thinking
        return {"message": message}


class OllamaToolShape(OllamaChatShape):
    """OllamaChatShape with tool calls apart from the content. A complete call is sent in one line.

    No field tells Ollama's clients that a call is not complete, so such a call is part of the content.
    """

    def __init__(
        self,
        parser: ToolCallParser,
        model: str,
        *,
        shows_thoughts: bool = True,
        logprobs: ChatLogprobs | None = None,
        lines: TreatedLines = UNTREATED,
    ) -> None:
        """Make the serializer. `parser` finds the calls of this answer, complete ones alone."""
        self._parser = parser
        self._num_calls = 0
        self._name = ""
        self._arguments = StringIO()
        super().__init__(model, shows_thoughts=shows_thoughts, logprobs=logprobs, lines=lines)

    def step(self, output: RequestOutput) -> bytes:
        """Return the lines of a step. Text that is, or may become, part of a call is held back."""
        events = self._parser.push(output.text)
        return super().step(output.with_text(text_of(events))) + self._call_lines(events)

    def ending(self, last: RequestOutput) -> bytes:
        """Return the text that was held back, the calls, and the last line."""
        events = self._parser.finish(last.cut_before)
        rest = RequestOutput(request_id=last.request_id, text=text_of(events), token_ids=())
        return super().step(rest) + self._call_lines(events) + super().ending(last)

    def whole(self, answer: RequestOutput) -> dict[str, Any]:
        """Return the response body."""
        parsed = self._parser.whole(answer.text, answer.cut_before)
        return self._with_calls(super().whole(answer.with_text(parsed.text)), parsed.calls)

    def _call_lines(self, events: Iterable[AnswerEvent]) -> bytes:
        """Return a line for each call that ends among `events`."""
        lines = b""
        for event in events:
            match event:
                case CallStart(name):
                    self._name, self._arguments = name, StringIO()
                case ArgumentsPiece(text):
                    self._arguments.write(text)
                case CallEnd(is_complete):
                    call = ToolCall(self._name, self._arguments.getvalue(), is_complete)
                    lines += self._line(self._with_calls(self._content(""), [call]))
        return lines

    def _with_calls(self, fields: dict[str, Any], calls: Sequence[ToolCall]) -> dict[str, Any]:
        if calls:
            fields["message"]["tool_calls"] = [self._numbered(call) for call in calls]
        return fields

    def _numbered(self, call: ToolCall) -> dict[str, Any]:
        function = {"index": self._num_calls, "name": call.name, "arguments": arguments_object(call)}
        self._num_calls += 1
        return {"id": new_id("call"), "function": function}


class OllamaTextShape(OllamaShape):
    """Serializer of the answer to one prompt."""

    def _content(self, text: str, thinking: str = "") -> dict[str, Any]:
        return {"response": text, **({"thinking": thinking} if thinking else {})}
