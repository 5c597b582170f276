"""Hostile forms of structured output.

`BEYOND` holds forms outside the limits, each with a word that its refusal contains. `WITHIN` holds forms inside the
limits, which must cost little.
"""

from typing import Any

from engine.api.structured_output import FormKind


def nested(depth: int) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": nested(depth - 1)}} if depth else {"type": "string"}


def wide(count: int) -> dict[str, Any]:
    return {"type": "object", "properties": {f"p{index}": {"type": "string"} for index in range(count)}}


def chained(count: int) -> dict[str, Any]:
    """Build a schema in which each of `count` patterns leads to the next one."""
    links = {str(at): {"pattern": f".*a.{{{at}}}", "$ref": f"#/$defs/{at + 1}"} for at in range(count)}
    return {"$defs": {**links, str(count): {"type": "string"}}, "$ref": "#/$defs/0"}


def doubling(name: str) -> str:
    """Build a grammar in which each terminal names the next one twice. name: prefix of the terminals."""
    lines = [f"{name}{at}: {name}{at + 1} {name}{at + 1}" for at in range(20)]
    return "\n".join([f"start: {name}0", *lines, f'{name}20: "x"'])


BEYOND: list[tuple[FormKind, Any, str]] = [
    ("json", nested(200), "nested"),
    ("json", "[" * 20_000, "not JSON"),
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
    ("json", {"$ref": "#/default", "default": {"type": "integer", "multipleOf": 99_991}}, "multipleOf"),
    ("lark", 'start: %json {"type": "object", "x-guidance": {"lenient": true}}', "x-guidance"),
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
    ("lark", 'start: %json {"type": ', "not JSON"),
    ("lark", 'start: %regex { "substring_words": "a b" }', "%regex"),
    ("calls", 'start: %json {"enum": [' + "1," * 2000 + "1]}", "enum"),
]


def alternatives(letters: str) -> str:
    return " | ".join(f'"{letter}" a "{letter}"' for letter in letters)


def numbered(count: int, text: str) -> str:
    return "\n".join(text.replace("#", str(at)) for at in range(count))


WITHIN: list[tuple[FormKind, Any]] = [
    ("regex", "(a|b)*a(a|b){60}"),
    ("regex", "(.*a){30}"),
    ("regex", "([a-z]+)*" * 50),
    ("regex", r"[\p{L}\p{N}]{1,1000}"),
    ("regex", "&".join(f".*a.{{{count}}}" for count in range(30))),
    ("regex", "~(.*a.{12})"),
    ("json", {"allOf": [{"type": "string", "pattern": f".*a.{{{count}}}"} for count in range(7)]}),
    ("json", {"allOf": [{"type": "string", "pattern": f"^.*{letter}.{{20}}$"} for letter in "ab"]}),
    ("json", {"allOf": [{"type": "integer", "multipleOf": prime} for prime in (997, 991, 983, 977)]}),
    ("json", {"$ref": "#"}),
    ("json", {"type": "object", "patternProperties": {f"^{letter}.*": {} for letter in "abcdefghijklmnopqrstuvwxyz"}}),
    ("json", {"type": "string", "maxLength": 100_000, "minLength": 99_999}),
    ("json", {"allOf": [{"anyOf": [{"properties": {f"k{at}": {"const": n}}} for n in range(4)]} for at in range(12)]}),
    ("lark", f'start: a\na: {alternatives("abcdefghijklmnopqrst")} | "x"'),
    ("lark", f"start: {' '.join(f'r{at}' for at in range(500))}\n" + numbered(500, 'r#: "x#"')),
    ("lark", "start: A\nA: /(a|b)*a(a|b){60}/"),
    ("lark", 'start: a a a a a a a a\na: (b b)* | ""\nb: (c c)* | "x"\nc: a'),
    ("lark", "start: " + " ".join(["a?"] * 1500) + '\na: "x"'),
    ("lark", "start: /[a-z]{1,3900}x/ | /[a-y]{1,3900}y/"),
]
