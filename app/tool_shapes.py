"""Answers of chat completions that may call tools."""

from dataclasses import replace
from typing import Any

from app.ids import new_id
from app.logprob_shapes import ChatLogprobs
from app.openai_shapes import ChatShape, Head
from engine.outputs import FinishReason, RequestOutput
from models.pangu.chat_format import Message
from models.tool_calls import Parsed, ToolCall, ToolCallParser
from models.tool_format import ToolFormat


class ToolCallShape(ChatShape):
    """As ChatShape, with the calls apart from the content. A call comes in one chunk, when it is whole."""

    def __init__(
        self,
        how: ToolFormat,
        head: Head,
        logprobs: ChatLogprobs | None = None,
        *,
        index: int = 0,
        parallel: bool = True,
    ) -> None:
        """parallel: whether an answer may call more than once; of one that may not the first call counts."""
        self._parser: ToolCallParser = how.parser()
        self._parallel = parallel
        self._num_calls = 0
        super().__init__(head, logprobs, index=index)

    def step(self, output: RequestOutput) -> bytes:
        """No text while it may be a call, or is part of one."""
        parsed = self._parser.push(output.text)
        return super().step(replace(output, text=parsed.text)) + self._call_chunks(parsed)

    def reason(self, last: RequestOutput) -> bytes:
        """With what was held back before it."""
        parsed = self._parser.finish()
        rest = RequestOutput(last.request_id, parsed.text, ())
        return super().step(rest) + self._call_chunks(parsed) + super().reason(last)

    def choice(self, answer: RequestOutput) -> dict[str, Any]:
        """The answer in a body."""
        parsed = read_answer(self._parser, answer.text)
        calls = [_call(call) for call in self._counted(parsed)]
        choice = super().choice(replace(answer, text=parsed.text))
        if calls:
            choice["message"] |= {"content": parsed.text or None, "tool_calls": calls}
        return choice

    def _choice(
        self, content: dict[str, Any], reason: FinishReason | None, told: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        choice = super()._choice(content, reason, told)
        return choice | {"finish_reason": "tool_calls"} if reason == "stop" and self._num_calls else choice

    def _call_chunks(self, parsed: Parsed) -> bytes:
        first = self._num_calls
        deltas = ({"index": index, **_call(call)} for index, call in enumerate(self._counted(parsed), first))
        return b"".join(self._chunk([self._choice({"delta": {"tool_calls": [delta]}}, None)]) for delta in deltas)

    def _counted(self, parsed: Parsed) -> tuple[ToolCall, ...]:
        counted = parsed.calls if self._parallel else parsed.calls[: 1 - self._num_calls]
        self._num_calls += len(counted)
        return counted


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": new_id("call"), "type": "function", "function": function}


def read_answer(parser: ToolCallParser, text: str) -> Parsed:
    """All of an answer at once."""
    begun, rest = parser.push(text), parser.finish()
    return Parsed(begun.text + rest.text, begun.calls + rest.calls)


def as_message(how: ToolFormat, parallel: bool, text: str) -> Message:
    """An answer as its client sends it again."""
    parsed = read_answer(how.parser(), text)
    return Message("assistant", parsed.text, parsed.calls if parallel else parsed.calls[:1])
