"""The calls of tools in an answer of openPangu-Embedded: text in pieces in, text and calls out.

Between [unused11] and [unused12] stands a JSON list of {"name": ..., "arguments": {...}}. What stands there and is no
such list is text, as the model wrote it: nobody should lose words to a model that cannot write JSON.
"""

import json
from dataclasses import dataclass

START, END = "[unused11]", "[unused12]"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """arguments: JSON, as clients expect it."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Parsed:
    """text: outside of calls. calls: those that are complete, in their order."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()


class ToolCallParser:
    """Reads one answer. Text comes as soon as it cannot be the beginning of a call."""

    def __init__(self) -> None:
        self._held = ""
        self._in_calls = False

    def push(self, text: str) -> Parsed:
        """What `text`, a further piece of the answer with its control tokens by their names, completes."""
        self._held += text
        shown, calls = list[str](), list[ToolCall]()
        while True:
            mark = END if self._in_calls else START
            before, found, after = self._held.partition(mark)
            if not found:
                break
            parsed = _calls_in(before) if self._in_calls else Parsed(before)
            shown.append(parsed.text)
            calls += parsed.calls
            self._held, self._in_calls = after, not self._in_calls
        if not self._in_calls:
            cut = len(self._held) - _possible_start(self._held)
            shown.append(self._held[:cut])
            self._held = self._held[cut:]
        return Parsed("".join(shown), tuple(calls))

    def finish(self) -> Parsed:
        """What was held back, when no more comes. Calls that were not closed count if they are whole."""
        held, self._held = self._held, ""
        in_calls, self._in_calls = self._in_calls, False
        if not in_calls:
            return Parsed(held)
        parsed = _calls_in(held)
        return parsed if parsed.calls else Parsed(START + held)


def _calls_in(text: str) -> Parsed:
    try:
        return Parsed(calls=tuple(_call(entry) for entry in _list_of(json.loads(text))))
    except (ValueError, KeyError, TypeError, RecursionError):
        return Parsed(START + text + END)


def _list_of(value: object) -> list[object]:
    """One call alone is taken for a list of it."""
    if isinstance(value, dict):
        return [value]
    if not isinstance(value, list):
        raise TypeError
    return value


def _call(entry: object) -> ToolCall:
    if not isinstance(entry, dict) or not isinstance(entry["name"], str):
        raise TypeError
    arguments = entry.get("arguments", {})
    # Some answers have them as a string of JSON already.
    if isinstance(arguments, str):
        arguments = json.loads(arguments)
    if not isinstance(arguments, dict):
        raise TypeError
    return ToolCall(entry["name"], json.dumps(arguments, ensure_ascii=False))


def _possible_start(text: str) -> int:
    """Length of the longest end of the text that begins a call's mark."""
    longest = min(len(START) - 1, len(text))
    return next((length for length in range(longest, 0, -1) if START.startswith(text[-length:])), 0)
