"""Judgement of an outcome by the rules of `bench.tool_calls.cases`."""

import json
from enum import StrEnum
from typing import Any

from bench.tool_calls.answers import Answer
from bench.tool_calls.formats import Call, Format
from bench.tool_calls.outcome import Outcome, ReadCall
from bench.tool_calls.written import shown


class Fault(StrEnum):
    """First fault of an outcome."""

    ERROR = "error"
    CALLS = "calls"
    TEXT = "text"


def fault_of(outcome: Outcome, answer: Answer, how: Format) -> Fault | None:
    """Return the fault of an outcome; None if it is right."""
    case = answer.case
    if outcome.error:
        return Fault.ERROR
    complete = case.calls[:-1] if case.cut_after else case.calls
    read, rest = outcome.calls[: len(complete)], outcome.calls[len(complete) :]
    if len(read) < len(complete) or not all(map(_is_call, read, complete)):
        return Fault.CALLS
    if rest and not (case.cut_after and len(rest) == 1 and _is_cut(rest[0], case.calls[-1])):
        return Fault.CALLS
    text = outcome.text.strip()
    allowed = [shown(case.text).strip()]
    if case.cut_after:
        allowed += [answer.text.strip(), _without_special(answer.text, how).strip()]
    return None if text in allowed else Fault.TEXT


def is_late(outcome: Outcome, answer: Answer, way: str) -> bool:
    """Return whether a call is first reported when its arguments have ended. Short arguments may be."""
    due = answer.due.get(way, [])
    return any(end is not None and call.at >= end for call, end in zip(outcome.calls, due, strict=False))


def _is_call(read: ReadCall, call: Call) -> bool:
    try:
        arguments = json.loads(read.arguments)
    except ValueError:
        return False
    return read.name == call.name and _comparable(arguments) == _comparable(dict(call.arguments))


def _is_cut(read: ReadCall, call: Call) -> bool:
    try:
        is_object = isinstance(json.loads(read.arguments), dict)
    except ValueError:
        is_object = False
    return read.name == call.name and not is_object


def _comparable(value: Any) -> Any:
    """Return a value that equals that of another JSON value only if both mean the same. Python has True == 1."""
    match value:
        case bool():
            return ("bool", value)
        case str():
            return shown(value)
        case dict():
            return {key: _comparable(each) for key, each in value.items()}
        case list():
            return [_comparable(each) for each in value]
    return value


def _without_special(text: str, how: Format) -> str:
    for mark, is_special in how.tokens.items():
        text = text.replace(mark, "") if is_special else text
    return text
