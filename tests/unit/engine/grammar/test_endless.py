"""Schemas that nothing finite satisfies are found, and no other ones."""

import time

import pytest

from engine.grammar.endless import endless_reference


def thing(*required: str, **properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(required)}


def to(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


ENDLESS = [
    {"$defs": {"a": thing("b", b=to("a"))}, **to("a")},
    {"$defs": {"a": thing("x", "y", x=to("b"), y=to("b")), "b": thing("x", x=to("a"))}, **to("a")},
    {"$defs": {"a": {"type": "array", "items": to("a"), "minItems": 1}}, "type": "object",
     "properties": {"x": to("a")}, "required": ["x"]},
    {"$defs": {"a": {"anyOf": [thing("b", b=to("a")), to("a")]}}, **to("a")},
    {**thing("next", next={"$ref": "#"})},
]  # fmt: skip
FINITE = [
    {"$defs": {"a": thing(b=to("a"))}, **to("a")},
    {"$defs": {"a": thing("b", b={"anyOf": [to("a"), {"type": "null"}]})}, **to("a")},
    {"$defs": {"a": {"type": "array", "items": to("a")}}, **to("a")},
    {"$defs": {"a": thing("b", b=to("a"))}, **thing("x", x={"type": "string"}, y=to("a"))},
    {"$defs": {str(at): thing("x", x=to(str(at + 1))) for at in range(20)} | {"20": {"type": "null"}}, **to("0")},
    {"$ref": "http://example.com/x"},
    {"$ref": "#/nowhere/at/all"},
    True,
]


@pytest.mark.parametrize("schema", ENDLESS)
def test_a_schema_without_an_end_is_refused_by_its_reference(schema: dict[str, object]) -> None:
    assert endless_reference(schema) in {"#/$defs/a", "#/$defs/b", "#"}


@pytest.mark.parametrize("schema", FINITE)
def test_a_schema_with_an_end_is_not_refused(schema: object) -> None:
    assert endless_reference(schema) is None


def test_many_references_cost_little() -> None:
    schema = {"$defs": {str(at): thing("x", x=to(str(at + 1))) for at in range(500)}, **to("0")}
    began = time.thread_time()
    endless_reference(schema)
    assert time.thread_time() - began < 0.5
