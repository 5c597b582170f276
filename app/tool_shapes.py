"""Answers of chat completions that may call tools."""

from typing import Any

from app.ids import new_id
from app.openai_shapes import ChatShape
from engine.outputs import FinishReason, RequestOutput
from models.pangu.chat_format import Message
from models.tool_calls import Parsed, ToolCall, ToolCallParser
from models.tool_format import ToolFormat


class ToolCallShape(ChatShape):
    """As ChatShape, with the calls apart from the content. A call comes in one chunk, when it is whole."""

    def __init__(self, how: ToolFormat, *, parallel: bool, **head: Any) -> None:
        """parallel: whether an answer may call more than once; of one that may not the first call counts. head: as of
        ChatShape."""
        super().__init__(**head)
        self._parser: ToolCallParser = how.parser()
        self._parallel = parallel
        self._num_calls = 0

    def text(self, text: str) -> bytes:
        """Nothing while it may be a call, or is part of one."""
        return self._frames(self._parser.push(text))

    def ending(self, last: RequestOutput) -> bytes:
        """With what was held back before it."""
        return self._frames(self._parser.finish()) + super().ending(last)

    def whole(self, text: str, reasoning: str, last: RequestOutput) -> dict[str, Any]:
        """The body."""
        parsed = read_answer(self._parser, text)
        calls = [self._call(call) for call in self._counted(parsed)]
        body = super().whole(parsed.text, reasoning, last)
        if calls:
            message = body["choices"][0]["message"]
            message |= {"content": parsed.text or None, "tool_calls": calls}
        return body

    def _choice(self, content: dict[str, Any], reason: FinishReason | None) -> dict[str, Any]:
        choice = super()._choice(content, reason)
        return choice | {"finish_reason": "tool_calls"} if reason == "stop" and self._num_calls else choice

    def _frames(self, parsed: Parsed) -> bytes:
        frames = super().text(parsed.text) if parsed.text else b""
        first = self._num_calls
        for index, call in enumerate(self._counted(parsed), first):
            delta = {"index": index, **self._call(call)}
            frames += self._chunk([self._choice({"delta": {"tool_calls": [delta]}}, None)])
        return frames

    def _counted(self, parsed: Parsed) -> list[ToolCall]:
        counted = list(parsed.calls) if self._parallel else list(parsed.calls)[: 1 - min(self._num_calls, 1)]
        self._num_calls += len(counted)
        return counted

    @staticmethod
    def _call(call: ToolCall) -> dict[str, Any]:
        return {
            "id": new_id("call"),
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }


def read_answer(parser: ToolCallParser, text: str) -> Parsed:
    """All of an answer at once."""
    begun, rest = parser.push(text), parser.finish()
    return Parsed(begun.text + rest.text, begun.calls + rest.calls)


def as_message(how: ToolFormat, parallel: bool, text: str) -> Message:
    """An answer as its client sends it again."""
    parsed = read_answer(how.parser(), text)
    return Message("assistant", parsed.text, parsed.calls if parallel else parsed.calls[:1])
