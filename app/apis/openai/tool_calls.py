"""Serializer for chat completions that may call tools."""

from collections.abc import Iterable
from typing import Any

from app.apis.openai.logprobs import ChatLogprobs
from app.apis.openai.serializer import ChatShape, ChunkFields, TokenDetails
from app.domain.records import new_id
from app.prompts.tool_offer import ToolOffer
from app.transport.frames import TextFrame
from engine.api.outputs import FinishReason, RequestOutput
from models.chat.custom_input import CustomInput, input_of
from models.chat.tool_calls import AnswerEvent, ArgumentsPiece, CallEnd, CallStart, ToolCall, text_of
from models.chat.tool_format import ToolFormat


class ToolCallShape(ChatShape):
    """ChatShape with tool calls apart from the content. The first chunk of a call has its id and name."""

    def __init__(
        self,
        tools: ToolFormat,
        offer: ToolOffer,
        head: ChunkFields,
        logprobs: ChatLogprobs | None = None,
        *,
        index: int = 0,
        details: TokenDetails | None = None,
        with_reasoning: bool = True,
    ) -> None:
        """Make the serializer. `offer` has the tools that the answer may call."""
        self._parser = tools.parser(parallel=offer.parallel, tools=offer.known_functions)
        self._custom = offer.custom
        self._input: CustomInput | None = None
        # OpenAI reports "stop" if the request named the function to call.
        self._reason_of_calls = "stop" if offer.is_named else "tool_calls"
        self._num_calls = 0
        self._all_complete = True
        self._arguments_frame: TextFrame | None = None
        super().__init__(head, logprobs, index=index, details=details, with_reasoning=with_reasoning)

    def step(self, output: RequestOutput) -> bytes:
        """Return the chunks of a step. Text that is, or may become, part of a call is held back."""
        events = self._parser.push(output.text)
        return super().step(output.with_text(text_of(events))) + self._call_chunks(events)

    def reason(self, last: RequestOutput) -> bytes:
        """Return the text that was held back, the calls, and the finish reason."""
        events = self._parser.finish(last.cut_before)
        rest = RequestOutput(request_id=last.request_id, text=text_of(events), token_ids=())
        return super().step(rest) + self._call_chunks(events) + super().reason(last)

    def choice(self, answer: RequestOutput) -> dict[str, Any]:
        """Return the choice of an answer in a response body."""
        parsed = self._parser.whole(answer.text, answer.cut_before)
        calls = parsed.calls
        self._num_calls, self._all_complete = len(calls), all(call.is_complete for call in calls)
        choice = super().choice(answer.with_text(parsed.text))
        if calls:
            choice["message"] |= {
                "content": parsed.text or None,
                "tool_calls": [self._call_json(call) for call in calls],
            }
        return choice

    def _choice(
        self, content: dict[str, Any], reason: FinishReason | None, logprobs: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        choice = super()._choice(content, reason, logprobs)
        # A call without all of its arguments must not be made, so the reason does not ask for it.
        has_called = reason == "stop" and self._num_calls > 0 and self._all_complete
        return choice | {"finish_reason": self._reason_of_calls} if has_called else choice

    def _call_chunks(self, events: Iterable[AnswerEvent]) -> bytes:
        return b"".join(self._call_chunk(event) for event in events)

    def _call_chunk(self, event: AnswerEvent) -> bytes:
        match event:
            case CallStart(name):
                index = self._num_calls
                self._num_calls += 1
                self._input = CustomInput() if name in self._custom else None
                call = _calls_delta({"index": index, **self._call_json(ToolCall(name, ""))})
                begun = self._chunk([self._choice(call, None)])
                if self._details is None:
                    self._arguments_frame = self._chunk_of_text(self._arguments_delta)
                return begun
            case ArgumentsPiece(text):
                return self._arguments_chunk(text if self._input is None else self._input.push(text))
            case CallEnd(is_complete):
                self._all_complete &= is_complete
        return b""

    def _arguments_chunk(self, text: str) -> bytes:
        """Return the chunk of a piece of a call's arguments or input. The beginning of the arguments is no input."""
        if not text:
            return b""
        if self._arguments_frame is not None:
            return self._arguments_frame.encode(text)
        return self._chunk([self._choice(self._arguments_delta(text), None)])

    def _arguments_delta(self, text: str) -> dict[str, Any]:
        arguments = {"function": {"arguments": text}} if self._input is None else {"custom": {"input": text}}
        return _calls_delta({"index": self._num_calls - 1, **arguments})

    def _call_json(self, call: ToolCall) -> dict[str, Any]:
        if call.name in self._custom:
            custom = {"name": call.name, "input": input_of(call.arguments)}
            return {"id": new_id("call"), "type": "custom", "custom": custom}
        function = {"name": call.name, "arguments": call.arguments}
        return {"id": new_id("call"), "type": "function", "function": function}


def _calls_delta(delta: dict[str, Any]) -> dict[str, Any]:
    return {"delta": {"tool_calls": [delta]}}
