"""The calls of tools in a model's answer: text in pieces in, text and calls out.

Between two marks stands the JSON of a call, {"name": ..., "arguments": {...}}, or a list of them. What stands there and
is no such thing is text, as the model wrote it: nobody should lose words to a model that cannot write JSON.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass


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
    """Reads one answer. Text comes as soon as it cannot be the beginning of a call; white space between calls, and
    behind the last one, is none."""

    def __init__(self, start: str, end: str, *, parallel: bool = True) -> None:
        """The marks around calls. parallel: whether more than the first call counts."""
        self._start = start
        self._end = end
        self._parallel = parallel
        self._has_called = False
        self._held = ""
        self._space = ""
        self._in_calls = False
        self._after_call = False

    def push(self, text: str) -> Parsed:
        """What `text`, a further piece of the answer with its control tokens by their names, completes."""
        self._held += text
        shown, calls = list[str](), list[ToolCall]()
        while True:
            mark = self._end if self._in_calls else self._start
            before, found, after = self._held.partition(mark)
            if not found:
                break
            if self._in_calls:
                parsed = self._calls_in(before)
                self._after_call = bool(parsed.calls) or not parsed.text
                shown.append(parsed.text)
                calls += parsed.calls
            else:
                shown.append(self._shown(before, ends=True))
            self._held, self._in_calls = after, not self._in_calls
        if not self._in_calls:
            cut = len(self._held) - _possible_start(self._held, self._start)
            shown.append(self._shown(self._held[:cut], ends=False))
            self._held = self._held[cut:]
        return Parsed("".join(shown), self._counted(calls))

    def finish(self) -> Parsed:
        """What was held back, when no more comes. Calls that were not closed count if they are whole."""
        held, self._held = self._held, ""
        in_calls, self._in_calls = self._in_calls, False
        if not in_calls:
            return Parsed(self._shown(held, ends=True))
        parsed = self._calls_in(held)
        return Parsed(calls=self._counted(parsed.calls)) if parsed.calls else Parsed(self._start + held)

    def whole(self, text: str) -> Parsed:
        """All of an answer at once."""
        begun, rest = self.push(text), self.finish()
        return Parsed(begun.text + rest.text, begun.calls + rest.calls)

    def _counted(self, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
        counted = calls if self._parallel else calls[: not self._has_called]
        self._has_called |= bool(calls)
        return tuple(counted)

    def _shown(self, text: str, *, ends: bool) -> str:
        """Of a text outside of calls, the space behind a call only once something follows it. ends: nothing does."""
        if not self._after_call:
            return text
        text, self._space = self._space + text, ""
        if text.strip():
            self._after_call = False
            return text
        self._space = "" if ends else text
        return ""

    def _calls_in(self, text: str) -> Parsed:
        try:
            return Parsed(calls=tuple(_call(entry) for entry in _list_of(json.loads(text))))
        except (ValueError, KeyError, TypeError, RecursionError):
            return Parsed(self._start + text + self._end)


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
    # Python parses half a surrogate pair and NaN, but neither can be sent to a client: both raise ValueError here.
    call = ToolCall(entry["name"], json.dumps(arguments, ensure_ascii=False, allow_nan=False))
    (call.name + call.arguments).encode()
    return call


def _possible_start(text: str, mark: str) -> int:
    """Length of the longest end of the text that begins the mark."""
    longest = min(len(mark) - 1, len(text))
    return next((length for length in range(longest, 0, -1) if mark.startswith(text[-length:])), 0)
