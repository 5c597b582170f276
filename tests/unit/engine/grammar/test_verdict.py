"""The check of complete answers against schemas, compared with a general validator."""

import json
import random
import time
from typing import Any

import jsonschema
import pytest

from engine.grammar.verdict import verdict

NODE = {"$defs": {"n": {"anyOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}]}}, "$ref": "#/$defs/n"}
LEAVES: list[dict[str, Any]] = [
    {"type": "integer", "minimum": 1, "exclusiveMaximum": 3},
    {"type": ["string", "null"], "minLength": 1, "pattern": "^(?!b)"},
    {"const": 1},
    {"enum": ["a", None, [1]]},
    {"type": "number", "multipleOf": 0.5},
    {},
    {"type": "boolean"},
]
VALUES: list[Any] = [0, 1, 1.0, 2.5, True, None, "", "a", "b", [], [1], [1, 1.0], [True, 1], ["a", "b", "a"], {}]
VALUES += [{"a": 1}, {"a": "a", "b": [1]}, {"b": 1, "c": None}, {"a": {"a": 1}}]


def drawn(choose: random.Random, depth: int) -> dict[str, Any]:
    """Return a random schema."""
    if depth == 0:
        return choose.choice(LEAVES)
    below = [drawn(choose, depth - 1) for _ in range(3)]
    return choose.choice(
        [
            {"not": below[0]},
            {"oneOf": below},
            {"anyOf": below[:2]},
            {"allOf": below[:2]},
            {"if": below[0], "then": below[1], "else": below[2]},
            {"contains": below[0], "minContains": 1, "maxContains": 2},
            {"uniqueItems": True, "items": below[0]},
            {"prefixItems": below[:1], "items": below[1]},
            {"properties": {"a": below[0]}, "additionalProperties": below[1], "maxProperties": 2},
            {"patternProperties": {"^a": below[0]}, "required": ["a"]},
            {"dependentRequired": {"a": ["b"]}, "propertyNames": {"enum": ["a", "b"]}},
            {"dependentSchemas": {"a": below[0]}},
            {"$defs": {"x": below[0]}, **below[1]},
        ]
    )


def test_verdict_equals_that_of_a_general_validator() -> None:
    choose, found = random.Random(5), {True: 0, False: 0}
    for _ in range(400):
        schema = drawn(choose, 2)
        validator = jsonschema.Draft202012Validator(schema)
        for value in choose.sample(VALUES, 6):
            is_valid = validator.is_valid(value)
            found[is_valid] += 1
            assert verdict(schema, json.dumps(value)) == ("valid" if is_valid else "invalid"), (schema, value)
    assert min(found.values()) > 200


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (NODE, 1),
        ({"not": {"type": "string", "pattern": "^(a|aa)+$"}}, "a" * 40 + "b"),
        ({"not": {"format": "email"}}, "a@b"),
        ({"unevaluatedProperties": False, "anyOf": [{"properties": {"a": {}}}]}, {"b": 1}),
        ({"$ref": "http://example.com/x"}, 1),
        ({"dependentRequired": 5}, {}),
        ({"items": {"not": {"enum": list(range(500))}}}, list(range(1000, 1600))),
    ],
)
def test_uncertain_check_has_no_verdict_and_ends_soon(schema: object, value: object) -> None:
    began = time.thread_time()
    assert verdict(schema, json.dumps(value)) == "unchecked"
    assert time.thread_time() - began < 0.2


def test_text_around_json_is_invalid_unless_it_may_be_a_call() -> None:
    assert verdict({"not": {}}, "<call>") == "invalid"
    assert verdict({"not": {}}, "<call>", may_be_call=True) is None
