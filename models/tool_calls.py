"""Streaming parser of tool calls in a model's answer.

The JSON of a call, {"name": ..., "arguments": {...}}, or of a list of calls is enclosed in two marks. Anything else
between the marks is text, exactly as the model wrote it, so a user loses no words to a model that writes invalid JSON.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool.

    arguments: a JSON object as a string, as clients expect it.
    """

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Parsed:
    """Parsed part of an answer.

    text: text outside of calls.
    calls: complete calls, in order.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()


class ToolCallParser:
    """Parser of one answer.

    Text is emitted as soon as it cannot be the start of a call. White space between calls and after the last one is
    dropped.
    """

    def __init__(self, start: str, end: str, *, parallel: bool = True) -> None:
        """Set the marks around calls.

        parallel: return all calls; False returns only the first.
        """
        self._start = start
        self._end = end
        self._parallel = parallel
        self._has_called = False
        self._held = ""
        self._space = ""
        self._in_calls = False
        self._after_call = False

    def push(self, text: str) -> Parsed:
        """Add a piece of the answer, with control tokens by name, and return the text and calls that it completes."""
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
        """Return the text and calls that were held back, at the end of the answer.

        Calls without an end mark count if their JSON is complete.
        """
        held, self._held = self._held, ""
        in_calls, self._in_calls = self._in_calls, False
        if not in_calls:
            return Parsed(self._shown(held, ends=True))
        parsed = self._calls_in(held)
        return Parsed(calls=self._counted(parsed.calls)) if parsed.calls else Parsed(self._start + held)

    def whole(self, text: str) -> Parsed:
        """Parse a complete answer."""
        begun, rest = self.push(text), self.finish()
        return Parsed(begun.text + rest.text, begun.calls + rest.calls)

    def _counted(self, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
        counted = calls if self._parallel else calls[: not self._has_called]
        self._has_called |= bool(calls)
        return tuple(counted)

    def _shown(self, text: str, *, ends: bool) -> str:
        """Return the part of a text outside of calls that can be emitted.

        White space after a call is held back until other text follows it.

        ends: a call or the end of the answer follows, so held white space is dropped.
        """
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
    """Return the list of calls; a single call becomes a list of one. Raise TypeError for any other value."""
    if isinstance(value, dict):
        return [value]
    if not isinstance(value, list):
        raise TypeError
    return value


def _call(entry: object) -> ToolCall:
    if not isinstance(entry, dict) or not isinstance(entry["name"], str):
        raise TypeError
    arguments = entry.get("arguments", {})
    # Some models write the arguments as a JSON string.
    if isinstance(arguments, str):
        arguments = json.loads(arguments)
    if not isinstance(arguments, dict):
        raise TypeError
    # Python parses lone surrogates and NaN, but neither can be sent to a client. Both raise ValueError here.
    call = ToolCall(entry["name"], json.dumps(arguments, ensure_ascii=False, allow_nan=False))
    (call.name + call.arguments).encode()
    return call


def _possible_start(text: str, mark: str) -> int:
    """Return the length of the longest suffix of the text that is a prefix of the mark."""
    longest = min(len(mark) - 1, len(text))
    return next((length for length in range(longest, 0, -1) if mark.startswith(text[-length:])), 0)
