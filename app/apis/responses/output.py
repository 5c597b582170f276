"""The output items of a response as its stream sends them: reasoning, then text, then tool calls."""

from dataclasses import replace
from typing import Any

from app.apis.responses.serializer import item_json, items_json, output_text, reasoning_json, reasoning_text
from app.domain.records import Message
from app.transport.sse import encode_json

Event = dict[str, Any]


class OutputItem:
    """An output item with one content part. Everything in a delta event except the text is encoded only once."""

    def __init__(self, answer: Message, index: int, *, is_thought: bool) -> None:
        self.is_thought = is_thought
        self.index = index
        self._part = reasoning_text if is_thought else output_text
        self._item = reasoning_json if is_thought else item_json
        self._kind = f"response.{'reasoning' if is_thought else 'output'}_text"
        self._place = {"item_id": self._item(answer)["id"], "output_index": index, "content_index": 0}
        # Log probabilities are not returned, but clients expect the field.
        self._logprobs: Event = {} if is_thought else {"logprobs": []}
        fixed = encode_json({"type": f"{self._kind}.delta", **self._place, **self._logprobs})
        self._delta_head = f"event: {self._kind}.delta\ndata: {fixed[:-1]},".encode()

    def rest(self, text: str) -> Event:
        """Build a delta event that is sent among the closing events."""
        return {"type": f"{self._kind}.delta", **self._place, **self._logprobs, "delta": text}

    def added(self, begun: Message) -> list[Event]:
        """Build the two events that open the item.

        begun: the answer before its first token.
        """
        item = {**self._item(begun), "status": "in_progress", "content": []}
        return [
            {"type": "response.output_item.added", "output_index": self.index, "item": item},
            {"type": "response.content_part.added", **self._place, "part": self._part("")},
        ]

    def delta(self, number: int, text: str) -> bytes:
        """Encode the frame of a delta event."""
        return self._delta_head + f'"sequence_number":{number},"delta":{encode_json(text)}}}\n\n'.encode()

    def done(self, answer: Message) -> list[Event]:
        """Build the three events that close the item.

        answer: the answer with all of the item's text.
        """
        text = (answer.reasoning or "") if self.is_thought else answer.said.text
        return [
            {"type": f"{self._kind}.done", **self._place, "text": text, **self._logprobs},
            {"type": "response.content_part.done", **self._place, "part": self._part(text)},
            {"type": "response.output_item.done", "output_index": self.index, "item": self._item(answer)},
        ]


def call_events(answer: Message, index: int) -> list[Event]:
    """Build the events of an answer's tool calls, four for each.

    index: position of the first call in the output.
    """
    events: list[Event] = []
    for item in (each for each in items_json(answer) if each["type"] == "function_call"):
        place = {"item_id": item["id"], "output_index": index}
        kind, arguments = "response.function_call_arguments", item["arguments"]
        begun = {**item, "status": "in_progress", "arguments": ""}
        events += [
            {"type": "response.output_item.added", "output_index": index, "item": begun},
            {"type": f"{kind}.delta", **place, "delta": arguments},
            {"type": f"{kind}.done", **place, "arguments": arguments},
            {"type": "response.output_item.done", "output_index": index, "item": item},
        ]
        index += 1
    return events


def thought_about(answer: Message, reasoning: str | None) -> Message:
    """Return `answer` as of the end of its reasoning, before any text. The reasoning item is complete at that point."""
    return replace(answer, reasoning=reasoning, status="complete")
