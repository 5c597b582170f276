"""Every field of every body that a route reads, and of every part of one, with long values of each kind of JSON."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from app.routes.api import OPERATIONS
from app.schemas.parsing import IgnoredFields, RequestModel, parse_body
from tests.cost_rows import MOST_GROWTH, CostRow, growth
from tests.sizes import Size

LONG: Final[dict[str, Callable[[int], Any]]] = {
    "letters": lambda size: "a" * size,
    "spaces": lambda size: " \u3000" * (size // 2),
    "marks": lambda size: "a\u0301\u0327" * (size // 3),
    "list of texts": lambda size: ["a"] * (size // 8),
    "list of a long text": lambda size: [" \u3000" * (size // 2)],
    "list of objects": lambda size: [{"type": "text", "text": "a", "role": "user", "content": "a"}] * (size // 64),
    "object of a long text": lambda size: {"name": " \u3000" * (size // 2), "type": "text", "text": "a" * size},
    "names": lambda size: {f"a{each}": "a" for each in range(size // 8)},
}
"""Values of about `size` characters."""


def models_below(model: type[RequestModel]) -> Iterator[type[RequestModel]]:
    for each in model.__subclasses__():
        if each.__module__.startswith("app."):
            yield each
        yield from models_below(each)


MODELS: Final = sorted(set(models_below(RequestModel)), key=lambda model: (model.__module__, model.__name__))


def least(schema: dict[str, Any], whole: dict[str, Any]) -> Any:
    """Return a short value for a part of a JSON schema; an object has its required fields only."""
    if "$ref" in schema:
        return least(whole["$defs"][schema["$ref"].rpartition("/")[2]], whole)
    for name in ("const", "default"):
        if name in schema:
            return schema[name]
    if "enum" in schema:
        return schema["enum"][0]
    for name in ("anyOf", "oneOf", "allOf"):
        if name in schema:
            return least(schema[name][0], whole)
    match schema.get("type"):
        case "object":
            return {name: least(schema["properties"][name], whole) for name in schema.get("required", ())}
        case "array":
            return [least(schema["items"], whole)] * schema.get("minItems", 0)
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
    return "a" * schema.get("minLength", 1)


@pytest.mark.parametrize("model", MODELS, ids=[model.__name__ for model in MODELS])
def test_cost_of_every_field_grows_in_proportion(model: type[RequestModel], size: Size) -> None:
    schema = model.model_json_schema()
    others = least({**schema, "type": "object"}, schema)
    kinds = list(LONG.items())
    for number, name in enumerate(schema["properties"]):
        # A small run gives each field every second kind, so that two fields of a model have them all.
        for kind, make in size.pick(small=kinds[number % 2 :: 2], full=kinds):

            def body(number: int, name: str = name, make: Callable[[int], Any] = make) -> bytes:
                return json.dumps({**others, name: make(number)}).encode()

            row = CostRow(name, body, lambda data: parse_body(model, data, IgnoredFields()), 0, 0)
            assert growth(row, size.pick(small=2_000, full=10_000)) <= MOST_GROWTH, f"{name} of {kind}"


def test_bodies_of_all_operations_are_among_the_models() -> None:
    assert {each.model for each in OPERATIONS if each.model is not None} <= set(MODELS)
