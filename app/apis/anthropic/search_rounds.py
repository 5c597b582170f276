"""Answers within which the server searches for deferred tools.

The model calls a search, the server runs it, and the model continues the same answer. Each round is a separate request,
whose prompt is that of the round before with the answer so far and the results of the searches. The KV of both is found
again, as in a conversation whose client searches.
"""

import time
from array import array
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import StringIO
from typing import Final

from app.apis.anthropic.messages_schema import MessagesRequest
from app.apis.anthropic.references import Undescribed, text_of_search
from app.apis.anthropic.search_shape import SearchResult, SearchShape
from app.apis.anthropic.tool_search import find_tools
from app.apis.call_arguments import arguments_object, as_message_with_objects
from app.host.backend import Backend, GenerationStream
from app.prompts.stateless import WholePrompt, WholePrompts
from app.prompts.tokenization import apart_if, generate
from app.prompts.tool_offer import ToolOffer
from app.runs.usage import combined_usage
from app.tenants.gate import TenantGate
from engine.api.errors import EbbError
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import RequestOutput, Usage
from engine.api.sampling_params import SamplingParams
from models.chat.format import Message

_LEAST_SECONDS: Final = 0.001
MAX_ROUNDS: Final = 8
"""Number of rounds after which an answer pauses. The client sends it back to continue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request of a client, for all rounds of its answer.

    params: parameters without the form of a required call.
    adapter: as in `GenerateRequest`.
    """

    gate: TenantGate
    engine: Backend
    prompts: WholePrompts
    fields: MessagesRequest
    params: SamplingParams
    request_id: str
    adapter: str


class RoundOutput:
    """The outputs of a round, packed."""

    def __init__(self) -> None:
        self.ids = array("I")
        self._text = StringIO()
        self._reasoning = StringIO()
        self.last: RequestOutput | None = None

    def add(self, output: RequestOutput) -> None:
        """Append one output."""
        self.ids.extend(output.token_ids)
        self._text.write(output.text)
        self._reasoning.write(output.reasoning)
        self.last = output

    @property
    def text(self) -> str:
        """The text so far."""
        return self._text.getvalue()

    @property
    def cut_before(self) -> str | None:
        """Text before which the round was cut, as in `RequestOutput`."""
        return self.last.cut_before if self.last is not None and self.last.finished else ""

    def whole(self, last: RequestOutput) -> RequestOutput:
        """Return all outputs as one. `last` is the last one."""
        return replace(last, text=self.text, reasoning=self._reasoning.getvalue(), token_ids=tuple(self.ids))


class SearchingStream:
    """GenerationStream of an answer with searches, which are run between its rounds."""

    def __init__(self, asked: Asked, offer: ToolOffer, shape: SearchShape, prompt: WholePrompt) -> None:
        self._asked = asked
        self._offer = offer
        self._shape = shape
        self._prompt = prompt
        self._messages = asked.fields.turns()
        self._catalog = asked.fields.catalog
        known = {function["name"] for function in offer.loaded}
        self._undescribed: Undescribed = {each["name"]: each for each in self._catalog if each["name"] not in known}
        self._began = time.monotonic()
        self._num_rounds = 0
        self._num_tokens = 0
        self._stream: GenerationStream

    def after(self, first: GenerationStream) -> "SearchingStream":
        """Begin with the stream of the first round."""
        self._stream = first
        return self

    @property
    def request_id(self) -> str:
        """See GenerationStream: the id of the round in progress."""
        return self._stream.request_id

    @property
    def params(self) -> SamplingParams:
        """See GenerationStream."""
        return self._stream.params

    @property
    def text_before(self) -> str:
        """See GenerationStream."""
        return ""

    @property
    def reasoning_before(self) -> str:
        """See GenerationStream."""
        return ""

    def set_listener(self, on_output: Callable[[RequestOutput], bool]) -> None:
        """See GenerationStream. All outputs are left to the reader, since a round may follow any of them."""

    async def __aiter__(self) -> AsyncIterator[RequestOutput]:
        try:
            async for output in self._outputs():
                yield output
        finally:
            # Ends a round that began while the client left; otherwise without effect.
            self._asked.engine.abort(self.request_id)

    async def _outputs(self) -> AsyncIterator[RequestOutput]:
        """Yield the outputs of all rounds. Only the last output of the last round has a finish_reason."""
        usages: list[Usage] = []
        while True:
            output = RoundOutput()
            try:
                async for each in self._stream:
                    output.add(each)
                    if not each.finished:
                        yield each
            finally:
                await self._remember(output)
            last = output.last
            if last is None or not last.finished:
                return
            usages += [last.usage] if last.usage is not None else []
            following = await self._following(output, last)
            if following is None:
                yield replace(last, usage=combined_usage(usages) if usages else None)
                return
            self._stream = following
            yield replace(last, finish_reason=None, usage=None)
            self._shape.next_round()

    async def _remember(self, output: RoundOutput) -> None:
        """Remember the round's answer, so that the next prompt has its exact tokens."""
        if not output.ids:
            return
        asked = self._asked
        as_message = partial(
            as_message_with_objects,
            self._offer,
            asked.engine.chat_format.tools,
            is_streamed=bool(asked.fields.stream),
        )
        await asked.prompts.remember(
            asked.engine, self._prompt, output.ids, output.text, output.cut_before, as_message=as_message
        )

    async def _following(self, output: RoundOutput, last: RequestOutput) -> GenerationStream | None:
        """Run the searches that the round called, and begin the next round. Return None if the answer ends."""
        results: list[SearchResult] = []
        message = self._message(output)
        if last.finish_reason == "stop" and last.stop_string is None:
            results = await self._results(message)
        self._shape.end_round(output.whole(last), results)
        if not results or len(results) < len(message.tool_calls):
            return None
        self._messages += [message, *self._described(results)]
        self._num_rounds += 1
        self._num_tokens += len(output.ids)
        following = await self._next_round()
        self._shape.is_paused = following is None
        return following

    def _described(self, results: Sequence[SearchResult]) -> list[Message]:
        """Return the results as messages, and load the tools that they describe."""
        before = dict(self._undescribed)
        told = [Message("tool", text_of_search(result, self._undescribed)) for result in results]
        loaded = [function for name, function in before.items() if name not in self._undescribed]
        # A choice that names the search has been followed.
        choice = "auto" if self._offer.is_named else self._offer.choice
        self._offer = replace(self._offer, choice=choice, loaded=[*self._offer.loaded, *loaded])
        return told

    async def _next_round(self) -> GenerationStream | None:
        """Begin the next round. Return None if it cannot begin now, so that the client has to ask again."""
        asked, fields = self._asked, self._asked.fields
        left = fields.max_tokens - self._num_tokens
        if left <= 0 or self._num_rounds == MAX_ROUNDS:
            return None
        urgency = fields.urgency()
        if urgency.timeout is not None:
            urgency = replace(urgency, timeout=max(_LEAST_SECONDS, urgency.timeout - (time.monotonic() - self._began)))
        try:
            params = self._offer.applied(replace(asked.params, max_tokens=left), asked.engine.chat_format.tools)
            self._prompt = await asked.prompts.prompt(
                asked.gate,
                asked.engine,
                self._messages,
                param="messages",
                thinking=fields.thinking_mode(asked.engine),
            )
            request = GenerateRequest(
                prompt_token_ids=self._prompt.ids,
                params=params,
                request_id=asked.request_id,
                adapter=asked.adapter,
                urgency=urgency,
                num_marked=round(fields.marked_share * len(self._prompt.ids)),
                promise=asked.gate.promise(fields.wanted_promise, len(self._prompt.ids)),
                is_stored=False,
            )
            [stream] = await generate(asked.gate, asked.engine, request, rename=fields.client_field)
        except EbbError:
            return None
        return stream

    def _message(self, output: RoundOutput) -> Message:
        tools = self._asked.engine.chat_format.tools
        text = self._prompt.opening + output.text
        is_streamed = bool(self._asked.fields.stream)
        return as_message_with_objects(self._offer, tools, text, output.cut_before, is_streamed=is_streamed)

    async def _results(self, message: Message) -> list[SearchResult]:
        """Run the searches among the calls of `message`, unless one of the calls is not complete."""
        if not all(call.is_complete for call in message.tool_calls):
            return []
        names = {str(name): name for name in self._asked.fields.searches}
        calls = [(names[call.name], arguments_object(call)) for call in message.tool_calls if call.name in names]
        # A catalog may have megabytes.
        return await apart_if(
            bool(calls), lambda: [find_tools(name, given.get("query"), self._catalog) for name, given in calls]
        )
