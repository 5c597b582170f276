"""Serializer for chat completions that may call tools."""

from dataclasses import replace
from typing import Any

from app.apis.openai.logprobs import ChatLogprobs
from app.apis.openai.serializer import ChatShape, Head, TokenDetails
from app.domain.ids import new_id
from app.prompts.tool_offer import ToolOffer
from engine.outputs import FinishReason, RequestOutput
from models.tool_calls import Parsed, ToolCall
from models.tool_format import ToolFormat


class ToolCallShape(ChatShape):
    """ChatShape with tool calls apart from the content. A complete call is sent in one chunk."""

    def __init__(
        self,
        how: ToolFormat,
        offer: ToolOffer,
        head: Head,
        logprobs: ChatLogprobs | None = None,
        *,
        index: int = 0,
        details: TokenDetails | None = None,
        with_reasoning: bool = True,
    ) -> None:
        """Make the serializer. `offer` has the tools that the answer may call."""
        self._parser = how.parser(parallel=offer.parallel)
        # OpenAI reports "stop" if the request named the function to call.
        self._reason_of_calls = "stop" if offer.is_named else "tool_calls"
        self._num_calls = 0
        super().__init__(head, logprobs, index=index, details=details, with_reasoning=with_reasoning)

    def step(self, output: RequestOutput) -> bytes:
        """Return the chunks of a step. Text that is, or may become, part of a call is held back."""
        parsed = self._parser.push(output.text)
        return super().step(replace(output, text=parsed.text)) + self._call_chunks(parsed)

    def reason(self, last: RequestOutput) -> bytes:
        """Return the text that was held back, the calls, and the finish reason."""
        parsed = self._parser.finish()
        rest = RequestOutput(last.request_id, parsed.text, ())
        return super().step(rest) + self._call_chunks(parsed) + super().reason(last)

    def choice(self, answer: RequestOutput) -> dict[str, Any]:
        """Return the choice of an answer in a response body."""
        parsed = self._parser.whole(answer.text)
        self._num_calls = len(parsed.calls)
        calls = [_call(call) for call in parsed.calls]
        choice = super().choice(replace(answer, text=parsed.text))
        if calls:
            choice["message"] |= {"content": parsed.text or None, "tool_calls": calls}
        return choice

    def _choice(
        self, content: dict[str, Any], reason: FinishReason | None, logprobs: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        choice = super()._choice(content, reason, logprobs)
        return choice | {"finish_reason": self._reason_of_calls} if reason == "stop" and self._num_calls else choice

    def _call_chunks(self, parsed: Parsed) -> bytes:
        first = self._num_calls
        self._num_calls += len(parsed.calls)
        deltas = ({"index": index, **_call(call)} for index, call in enumerate(parsed.calls, first))
        return b"".join(self._chunk([self._choice({"delta": {"tool_calls": [delta]}}, None)]) for delta in deltas)


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": new_id("call"), "type": "function", "function": function}
