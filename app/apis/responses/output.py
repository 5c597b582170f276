"""The output items of a response as its stream sends them: reasoning, then texts and tool calls in order."""

from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from typing import Any, ClassVar, Protocol

from app.apis.responses.serializer import (
    ItemStatus,
    begun,
    call_json,
    custom_call_json,
    item_status,
    output_text,
    reasoning_json,
    reasoning_text,
    text_json,
)
from app.apis.responses.text_logprobs import Logprobs
from app.domain.records import Message
from app.domain.response_record import call_ids_of, text_id_of
from app.domain.tool_use import MayCall
from app.runs.run_log import RunLog
from app.transport.sse import encode_json, numbered_frame
from models.chat.custom_input import CustomInput
from models.chat.tool_calls import AnswerEvent, ArgumentsPiece, CallEnd, CallStart, TextPiece, ToolCall

Event = dict[str, Any]


class ResponseSource(Protocol):
    """The source of a response's events: a run, or an answer that ended long ago."""

    @property
    def log(self) -> RunLog:
        """The log of the answer's text, which grows while the answer is generated."""

    @property
    def answer(self) -> Message:
        """The answer. Final once the log is closed."""


class Deltas:
    """Delta events of one item. Everything except the text is encoded only once.

    kind: the part of their names before ".delta".
    fields: fields of every delta, and of the event that repeats all of them.
    """

    def __init__(self, kind: str, fields: Event) -> None:
        self._kind = kind
        self._fields = fields
        fixed = encode_json({"type": f"{kind}.delta", **fields})
        self._head = f"event: {kind}.delta\ndata: {fixed[:-1]},".encode()

    def frame(self, number: int, text: str, logprobs: Sequence[dict[str, Any]] = ()) -> bytes:
        """Encode the frame of a delta event."""
        if logprobs:
            return numbered_frame({**self.event(text, logprobs), "sequence_number": number})
        return self._head + f'"sequence_number":{number},"delta":{encode_json(text)}}}\nid: {number}\n\n'.encode()

    def event(self, text: str, logprobs: Sequence[dict[str, Any]] = ()) -> Event:
        """Build a delta event, such as one that is sent among the closing events."""
        told = {"logprobs": logprobs} if logprobs else {}
        return {"type": f"{self._kind}.delta", **self._fields, **told, "delta": text}

    def done(self, name: str, text: str) -> Event:
        """Build the event with all of the text, in the field `name`."""
        return {"type": f"{self._kind}.done", **self._fields, name: text}


class TextItem:
    """An item with one content part: reasoning, or a text of the answer.

    answer: the answer before its first token.
    index: position in the output.
    number: position among the texts of the answer.
    logprobs: those of the text so far, if the client wants any.
    """

    def __init__(self, answer: Message, index: int, number: int = 0, *, is_thought: bool = False) -> None:
        self.is_thought = is_thought
        self.logprobs: Logprobs = []
        self._answer = answer
        self._index = index
        self._item_id = text_id_of(answer.id, number)
        self._part = reasoning_text if is_thought else output_text
        empty = self.whole(answer, "", "in_progress")
        self._place = {"item_id": empty["id"], "output_index": index, "content_index": 0}
        # Clients expect the field, also if they want no log probabilities.
        logprobs: Event = {} if is_thought else {"logprobs": []}
        self.deltas = Deltas(f"response.{'reasoning' if is_thought else 'output'}_text", {**self._place, **logprobs})

    def whole(self, answer: Message, text: str, status: ItemStatus) -> Event:
        """Build the item. text, status: of a text; those of reasoning follow from `answer`."""
        if self.is_thought:
            return reasoning_json(answer)
        item = text_json(answer, self._item_id, text, status)
        item["content"][0]["logprobs"] = self.logprobs
        return item

    def added(self) -> list[Event]:
        """Build the events that open the item."""
        item = {**self.whole(self._answer, "", "in_progress"), "status": "in_progress", "content": []}
        return [
            {"type": "response.output_item.added", "output_index": self._index, "item": item},
            {"type": "response.content_part.added", **self._place, "part": self._part("")},
        ]

    def done(self, item: Event) -> list[Event]:
        """Build the events that close the item."""
        part = item["content"][0]
        logprobs = {} if self.is_thought else {"logprobs": part["logprobs"]}
        return [
            {**self.deltas.done("text", part["text"]), **logprobs},
            {"type": "response.content_part.done", **self._place, "part": part},
            {"type": "response.output_item.done", "output_index": self._index, "item": item},
        ]


class CallItem:
    """An item of a tool call.

    answer: the answer that calls.
    index: position in the output.
    number: position among the calls of the answer.
    tool: its namespace, or None, and its name.
    """

    is_thought = False
    _kind: ClassVar = "response.function_call_arguments"
    _field: ClassVar = "arguments"

    def __init__(self, answer: Message, index: int, number: int, tool: tuple[str | None, str]) -> None:
        self._index = index
        self._ids = call_ids_of(answer.id, number)
        self._namespace, self._name = tool
        self.deltas = Deltas(self._kind, {"item_id": self._ids[0], "output_index": index})

    def piece(self, arguments: str) -> str:
        """Return the text that a piece of the arguments adds to the item."""
        return arguments

    def whole(self, text: str, status: ItemStatus) -> Event:
        """Build the item."""
        return call_json(self._ids, ToolCall(self._name, text), status, self._namespace)

    def added(self) -> list[Event]:
        """Build the event that opens the item."""
        item = self.whole("", "in_progress")
        return [{"type": "response.output_item.added", "output_index": self._index, "item": item}]

    def done(self, item: Event) -> list[Event]:
        """Build the events that close the item."""
        return [
            self.deltas.done(self._field, item[self._field]),
            {"type": "response.output_item.done", "output_index": self._index, "item": item},
        ]


class CustomCallItem(CallItem):
    """An item of a custom tool's call, whose text is the input."""

    _kind = "response.custom_tool_call_input"
    _field = "input"

    def __init__(self, answer: Message, index: int, number: int, tool: tuple[str | None, str]) -> None:
        super().__init__(answer, index, number, tool)
        self._input = CustomInput()

    def piece(self, arguments: str) -> str:
        """Return the text that a piece of the arguments adds to the input."""
        return self._input.push(arguments)

    def whole(self, text: str, status: ItemStatus) -> Event:
        """Build the item."""
        return custom_call_json(self._ids, self._name, text, status, self._namespace)


class ItemWriter:
    """The items of one stream, and the events that open and close them.

    item: the item that is open; None between two items.
    num_items: number of items that have been opened.
    has_output: an item other than the reasoning has been opened.
    texts: the texts of the answer that have been opened.
    """

    def __init__(self, source: ResponseSource) -> None:
        self.item: TextItem | CallItem | None = None
        self.num_items = 0
        self.has_output = False
        self.texts: list[TextItem] = []
        self._source = source
        self._begun = begun(source.answer)
        self._num_calls = 0
        tool_use = source.answer.tool_use
        self._custom = tool_use.custom if isinstance(tool_use, MayCall) else ()
        self._names_apart = tool_use.names_apart if isinstance(tool_use, MayCall) else {}
        # Without tools, the only text is that of the answer.
        self._text = StringIO() if isinstance(tool_use, MayCall) else None

    def before(self, event: AnswerEvent, *, is_thought: bool = False) -> list[Event]:
        """Return the events that precede the text of `event`. is_thought: the text is reasoning."""
        item = self.item
        match event:
            case TextPiece() if not isinstance(item, TextItem) or item.is_thought != is_thought:
                closed = self._closed("completed")
                text = TextItem(self._begun, self.num_items, len(self.texts), is_thought=is_thought)
                self.texts += [] if is_thought else [text]
                return closed + self._opened(text)
            case CallStart(name):
                closed = self._closed("completed")
                self._num_calls += 1
                kind = CustomCallItem if name in self._custom else CallItem
                tool = self._names_apart.get(name, (None, name))
                return closed + self._opened(kind(self._begun, self.num_items, self._num_calls - 1, tool))
            case CallEnd(is_complete):
                return self._closed("completed" if is_complete else "incomplete")
        return []

    def write(self, event: TextPiece | ArgumentsPiece, logprobs: Sequence[dict[str, Any]] = ()) -> tuple[Deltas, str]:
        """Add a text to the item that is open. Return the item's deltas, and the text as the item has it.

        logprobs: log probabilities of the text.
        """
        assert self.item is not None
        if isinstance(self.item, TextItem):
            self.item.logprobs += logprobs
        text = self.item.piece(event.text) if isinstance(self.item, CallItem) else event.text
        if self._text is not None and not self.item.is_thought:
            self._text.write(text)
        return self.item.deltas, text

    def end(self, answer: Message) -> list[Event]:
        """Return the events that close an item within which `answer` ended."""
        item, self.item = self.item, None
        match item:
            case TextItem():
                text = answer.content if self._text is None else self._text.getvalue()
                return item.done(item.whole(answer, text, item_status(answer)))
        return []

    def _opened(self, item: TextItem | CallItem) -> list[Event]:
        self.item = item
        self.num_items += 1
        self.has_output |= not item.is_thought
        if self._text is not None:
            self._text = StringIO()
        return item.added()

    def _closed(self, status: ItemStatus) -> list[Event]:
        item, self.item = self.item, None
        text = self._text.getvalue() if self._text is not None else ""
        match item:
            case TextItem():
                return item.done(item.whole(self._at_end_of_reasoning(), text, status))
            case CallItem():
                return item.done(item.whole(text, status))
        return []

    def _at_end_of_reasoning(self) -> Message:
        """Return the answer before any text, with all of the reasoning."""
        return replace(self._begun, reasoning=self._source.log.reasoning, status="complete")
