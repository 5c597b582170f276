"""Tool calls, and the events of an answer that may call tools."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool.

    arguments: the text that the model wrote: a JSON object, or the beginning of one if the answer was cut. A client may
        send any text.
    is_complete: False if the answer ended within the call, or the call continues with text that is not JSON.
    """

    name: str
    arguments: str
    is_complete: bool = True


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Text outside of calls."""

    text: str


@dataclass(frozen=True, slots=True)
class CallStart:
    """Beginning of a call, whose name is known by now."""

    name: str


@dataclass(frozen=True, slots=True)
class ArgumentsPiece:
    """Part of the arguments of the call that began last."""

    text: str


@dataclass(frozen=True, slots=True)
class CallEnd:
    """End of the call that began last. is_complete: as in `ToolCall`."""

    is_complete: bool


AnswerEvent = TextPiece | CallStart | ArgumentsPiece | CallEnd


@dataclass(frozen=True, slots=True)
class Parsed:
    """An answer as a client sees it.

    parts: texts and calls in order. No text is empty, and no two texts are adjacent.
    """

    parts: tuple[str | ToolCall, ...] = ()

    @property
    def text(self) -> str:
        """All text outside of calls."""
        return "".join(part for part in self.parts if isinstance(part, str))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


def parsed_of(events: Iterable[AnswerEvent]) -> Parsed:
    """Join the events of an answer. A call whose end has not come is incomplete."""
    parts = list[str | ToolCall]()
    for event in merged(events):
        last = parts[-1] if parts else None
        match event:
            case TextPiece(text):
                parts.append(text)
            case CallStart(name):
                parts.append(ToolCall(name, "", is_complete=False))
            case ArgumentsPiece(text) if isinstance(last, ToolCall):
                parts[-1] = replace(last, arguments=text)
            case CallEnd(is_complete) if isinstance(last, ToolCall):
                parts[-1] = replace(last, is_complete=is_complete)
    return Parsed(tuple(parts))


def read_object(text: str) -> dict[str, Any] | None:
    """Parse the arguments of a call. Return None if they are not a JSON object that can be sent to a client.

    Python also parses lone surrogates, NaN and infinite numbers. None of them can be sent.
    """
    try:
        value = json.loads(text)
        canonical_json(value).encode()
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def canonical_json(value: object) -> str:
    """Write a JSON value in one form, whichever form it was read in. Raise ValueError for NaN and infinite numbers."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def merged(events: Iterable[AnswerEvent]) -> list[AnswerEvent]:
    """Join adjacent pieces of the same text, in linear time: an answer may have a piece for each of its characters."""
    joined = list[AnswerEvent]()
    for kind, run in groupby(events, type):
        if kind is TextPiece:
            joined.append(TextPiece(text_of(run)))
        elif kind is ArgumentsPiece:
            joined.append(ArgumentsPiece("".join(event.text for event in run if isinstance(event, ArgumentsPiece))))
        else:
            joined += run
    return joined


def text_of(events: Iterable[AnswerEvent]) -> str:
    """Return the text outside of calls."""
    return "".join(event.text for event in events if isinstance(event, TextPiece))
