"""Forms that would cost too much are refused before anything is compiled, and say why."""

import json
import time
from typing import Any

import pytest

from engine.errors import InvalidRequestError
from engine.grammar.form import AnswerForm, FormKind
from engine.grammar.limits import check_form

REFUSE_SECONDS = 0.1


def nested(depth: int) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": nested(depth - 1)}} if depth else {"type": "string"}


def wide(count: int) -> dict[str, Any]:
    return {"type": "object", "properties": {f"p{index}": {"type": "string"} for index in range(count)}}


def chained(count: int) -> dict[str, Any]:
    """Each pattern brings the next one."""
    links = {str(at): {"pattern": f".*a.{{{at}}}", "$ref": f"#/$defs/{at + 1}"} for at in range(count)}
    return {"$defs": {**links, str(count): {"type": "string"}}, "$ref": "#/$defs/0"}


def doubling(name: str) -> str:
    """Terminals that each name the next one twice."""
    lines = [f"{name}{at}: {name}{at + 1} {name}{at + 1}" for at in range(20)]
    return "\n".join([f"start: {name}0", *lines, f'{name}20: "x"'])


HOSTILE: list[tuple[FormKind, Any, str]] = [
    ("json", nested(200), "nested"),
    ("json", "[" * 20_000, "no JSON"),
    ("json", wide(3000), "KiB"),
    ("json", wide(500), "properties"),
    ("json", {"anyOf": [{"const": index} for index in range(1000)]}, "branches"),
    ("json", {"enum": list(range(5000))}, "enum"),
    ("json", {"type": "string", "maxLength": 10**9}, "maxLength"),
    ("json", {"type": "array", "minItems": 10**300}, "minItems"),
    ("json", {"type": "integer", "multipleOf": 99_991}, "multipleOf"),
    ("json", {"type": "number", "multipleOf": 0.123456789}, "multipleOf"),
    ("json", {"type": "string", "pattern": "(a{1,500}){1,500}"}, "repetitions"),
    ("json", {"patternProperties": {"x{90000}": {}}}, "repetitions"),
    ("json", {"type": "object", "x-guidance": {"lenient": True}}, "x-guidance"),
    ("json", {"allOf": [{"type": "string", "pattern": f".*a.{{{index}}}"} for index in range(20)]}, "patterns"),
    ("json", chained(9), "patterns"),
    ("lark", doubling("R"), "terminals"),
    ("lark", "start: T0\n" + "\n".join(f"T{at}: T{at + 1}" for at in range(900)) + '\nT900: "x"', "deep"),
    ("lark", "start: A\nA: (B{60}){60}\nB: C{60}\nC: /x/", "terminals"),
    ("regex", "x{100000}", "repetitions"),
    ("regex", "((a{99}){99}){99}", "repetitions"),
    ("regex", "a{99999999999999999999}", "repetitions"),
    ("regex", "(" * 500 + ")" * 500, "nested"),
    ("regex", "a" * 9000, "KiB"),
    ("lark", "start: a\na: " + "a a | " * 500 + '"x"', "alternatives"),
    ("lark", 'start: "a"{100000}', "repetitions"),
    ("lark", 'start: %json {"type": "integer", "multipleOf": 99991}', "multipleOf"),
    ("lark", 'start: %json {"type": ', "no JSON"),
    ("lark", 'start: %regex { "substring_words": "a b" }', "%regex"),
    ("calls", 'start: %json {"enum": [' + "1," * 2000 + "1]}", "enum"),
]


@pytest.mark.parametrize(("kind", "form", "why"), HOSTILE)
def test_a_hostile_form_is_refused_at_once(kind: FormKind, form: object, why: str) -> None:
    text = form if isinstance(form, str) else json.dumps(form)
    began = time.thread_time()
    with pytest.raises(InvalidRequestError, match=why) as caught:
        check_form(AnswerForm(kind, text))
    assert caught.value.param == "form"
    assert time.thread_time() - began < REFUSE_SECONDS


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("regex", r"\d{4}-\d{2}-\d{2}T(\d{2}:){2}\d{2}(\.\d{1,9})?"),
        ("regex", r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
        ("regex", r"([a-z0-9]{1,63}\.){1,8}[a-z]{2,63}"),
        ("json", json.dumps(wide(200))),
        ("json", json.dumps(nested(25))),
        ("json", '{"type": "number", "multipleOf": 0.01, "maximum": 1e9}'),
        ("json", "true"),
        ("lark", 'start: ("a" | "b"){1,20} /x{3}/'),
        ("lark", 'start: UUID\nUUID: HEX{8} "-" (HEX{4} "-"){3} HEX{12}\nHEX: /[0-9a-f]/'),
        ("json", json.dumps({"allOf": [{"$ref": "#/$defs/a"}, {"pattern": "x$"}], "$defs": {"a": {"pattern": "^y"}}})),
    ],
)
def test_what_people_ask_for_is_within_the_limits(kind: FormKind, text: str) -> None:
    check_form(AnswerForm(kind, text))
