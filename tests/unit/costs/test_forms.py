"""Forms of answers: JSON schemas, regular expressions, Lark grammars and calls of tools."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from app.schemas.answer_forms import MAX_CHOICES, _of_choice
from engine.api.structured_output import FormKind, StructuredOutput
from engine.grammar.call_rules import tool_at
from engine.grammar.endless import endless_reference
from engine.grammar.enforceable import enforceable
from engine.grammar.limits import MAX_BYTES, check_form
from engine.grammar.verdict import verdict
from models.chat.call_syntax.registry import NAMES, syntax_named
from tests.cost_rows import MOST_GROWTH, CostRow, for_each, growth, repeated
from tests.sizes import Size

TEXTS: Final[tuple[tuple[FormKind, str, str, str, str], ...]] = (
    ("regex", "alternatives", "", "a|", ""),
    ("regex", "repetitions", "", "a{9}", ""),
    ("regex", "groups", "", "(a", ""),
    ("regex", "empty groups", "", "()", ""),
    ("regex", "backslashes", "", "\\\\", ""),
    ("regex", "long counts", "a{", "9", "}"),
    ("lark", "rules", "", "a: a a\n", ""),
    ("lark", "terminals", "", "A: A A\n", ""),
    ("lark", "terminals of spaces", "", " " * 8 + "\n", ""),
    ("lark", "lines of alternatives", "A: a", "\n |a", ""),
    ("lark", "embedded schemas", "", "a: %json {}\n", ""),
    ("lark", "embedded spaces", "a: ", "%json  ", ""),
    ("calls", "embedded schemas", "", "arguments_1: %json {}\n", ""),
    ("json", "strings", '{"enum": ["', "a", '"]}'),
    ("json", "brackets", '{"enum": ', "[", ""),
    ("json", "lists", '{"enum": [', "[],", "1]}"),
)
SCHEMAS: Final[tuple[tuple[str, Callable[[int], Any]], ...]] = (
    ("properties", lambda size: {"properties": {f"a{each}": {} for each in range(size)}}),
    ("branches", lambda size: {"anyOf": [{}] * size}),
    ("required names", lambda size: {"type": "object", "required": ["a"] * size, "properties": {"a": {}}}),
    ("references", lambda size: {"anyOf": [{"$ref": "#/a"}] * size}),
    ("references of different names", lambda size: {"allOf": [{"$ref": f"#/a{each}"} for each in range(size)]}),
    (
        "references to each other",
        lambda size: {
            "$defs": {str(each): {"allOf": [{"$ref": f"#/$defs/{each + 1}"}]} for each in range(size)},
            "$ref": "#/$defs/0",
        },
    ),
    (
        "references to the whole",
        lambda size: {"allOf": [{"$ref": "#" + "/" * each} for each in range(60)] + [{}] * size},
    ),
    ("patterns with brackets", lambda size: {"anyOf": [{"pattern": "(?:[a" * size}, {"type": "number"}]}),
    ("exclusive branches", lambda size: {"oneOf": [_marked(each) for each in range(size)]}),
    (
        "branches with many marks",
        lambda size: {"oneOf": [{"properties": {f"a{each}": {"const": 1} for each in range(size)}}] * 2 + [{}] * size},
    ),
    ("names of a map", lambda size: {"propertyNames": {"enum": [f"a{each}" for each in range(size)]}}),
    (
        "references elsewhere",
        lambda size: {"x": [{"not": {}}] * size, "anyOf": [{"$ref": f"#/x/{each}"} for each in range(size)]},
    ),
    ("nested lists", lambda size: {"enum": [[[1]]] * size}),
    ("patterns", lambda size: {"patternProperties": {f"a{each}": {} for each in range(size)}}),
    ("multiples", lambda size: {"enum": [{"multipleOf": 0.5}] * size}),
)


def _marked(mark: int) -> dict[str, Any]:
    return {"type": "object", "properties": {"kind": {"const": mark}}, "required": ["kind"]}


ANSWERS: Final[tuple[tuple[str, object, str, str, str], ...]] = (
    ("unique items", {"uniqueItems": True}, "[", "[1],", "1]"),
    ("negated items", {"items": {"not": {"type": "string"}}}, "[", "1,", "1]"),
    ("names", {"propertyNames": {"not": {"pattern": "^(a|aa)+$"}}}, '{"', "a", 'b": 1}'),
)


def check_text(kind: FormKind, text: str) -> None:
    check_form(StructuredOutput(kind, text))


def functions(size: int) -> list[dict[str, Any]]:
    parameters = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}
    return [{"name": f"f{each}", "parameters": parameters} for each in range(size)]


def write_rules(name: str) -> Callable[[list[dict[str, Any]]], object]:
    """Return a writer of the rules of calls in a format."""
    return lambda tools: syntax_named(name).grammar(tools, json.dumps, 128)


def check_schema(schema: Any) -> None:
    check_text("json", json.dumps(schema))


def within(kind: FormKind, text: str, size: int) -> int:
    """Return a size at which four times as many of the text are within the bound of a form."""
    return min(size, (MAX_BYTES[kind] - 512) // (4 * len(text)))


ROWS: Final = (
    *(
        CostRow(
            f"{kind} form of {name}",
            repeated(text, before, after),
            partial(check_text, kind),
            within(kind, text, 250),
            within(kind, text, 4_000),
        )
        for kind, name, before, text, after in TEXTS
    ),
    *(CostRow(f"schema of {name}", make, check_schema, 100, 300) for name, make in SCHEMAS),
    *(CostRow(f"rewriting of {name}", make, enforceable, 100, 1_000) for name, make in SCHEMAS),
    *(
        CostRow(f"verdict on {name}", repeated(text, before, after), partial(verdict, schema), 250, 2_000)
        for name, schema, before, text, after in ANSWERS
    ),
    *(CostRow(f"search for an end of {name}", make, endless_reference, 100, 1_000) for name, make in SCHEMAS),
    *(CostRow(f"rules of {name} calls", functions, write_rules(name), 40, 900) for name in NAMES),
    CostRow("choices", lambda size: ["a.b"] * size, _of_choice, MAX_CHOICES // 4, MAX_CHOICES // 4),
    CostRow("choice of special characters", lambda size: [".*" * size], _of_choice, 4_000, 16_000),
    CostRow(
        "rules of calls",
        repeated('// "f"\narguments_1: a\n'),
        lambda text: tool_at(text, text.count("\n")),
        1_000,
        16_000,
    ),
)


@for_each(ROWS)
def test_cost_grows_in_proportion_to_input(row: CostRow, size: Size) -> None:
    assert growth(row, size.pick(small=row.size, full=row.full)) <= MOST_GROWTH
