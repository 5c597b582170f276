"""Schemas in the words of the grammar library: what is enforced, and what is named instead."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Network
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import UUID4, AnyUrl, Base64Bytes, Field, IPvAnyAddress, SecretStr, TypeAdapter, conset

from engine.api.errors import InvalidRequestError
from engine.api.sampling_params import SamplingParams
from engine.api.structured_output import StructuredOutput
from engine.grammar.enforceable import enforceable
from engine.grammar.exclusive import are_exclusive
from engine.grammar.grammars import Grammars
from engine.grammar.limits import check_form
from engine.grammar.patterns import is_regular
from models.tokenizers.tokenizer import Tokenizer
from tests.tiny_tokenizer import BYTE_VOCAB, byte_tokenizer

EOS = 2
AHEAD = r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$"
CAT = {"type": "object", "properties": {"kind": {"const": "cat"}}, "required": ["kind"]}
DOG = {"type": "object", "properties": {"kind": {"const": "dog"}, "age": {"type": "integer"}}, "required": ["kind"]}
POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": False}
MAP = {"type": "object", "additionalProperties": {"type": "integer"}}
PAIR = {"type": "object", "properties": {"y": {"type": "integer"}}, "required": ["y"], "additionalProperties": False}


class Color(Enum):
    RED = "red"


TYPES = (
    *(Path, bytes, SecretStr, IPvAnyAddress, UUID4, set[str], Decimal, dict[Color, int], datetime, timedelta, AnyUrl),
    *(IPv4Network, Decimal | None, Annotated[int, Field(ge=-(2**63), lt=2**63)], Annotated[float, Field(le=3.4e38)]),
    *(conset(int, max_length=3), tuple[int, str], Base64Bytes, Annotated[Decimal, Field(max_digits=5)]),
    *(Annotated[dict[str, int], Field(min_length=1, max_length=5)], Annotated[str, Field(pattern=r"^\d{3}\b")]),
)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer(json.loads(byte_tokenizer().to_str()), bos_token_id=1, eos_token_ids=(EOS,))


@pytest.fixture(scope="module")
def grammars(tokenizer: Tokenizer) -> Iterator[Grammars]:
    made = Grammars(tokenizer, BYTE_VOCAB, None)
    yield made
    made.close()


def permits(grammars: Grammars, tokenizer: Tokenizer, schema: object, text: str) -> bool:
    """Return whether the masks of `schema` allow exactly `text`."""
    mask = grammars.mask(SamplingParams(form=StructuredOutput("json", json.dumps(schema))), [5], "local")
    assert mask is not None
    for id_ in [*tokenizer.encode(text, special=False), EOS]:
        if not int.from_bytes(mask.words(), "little") >> id_ & 1:
            return False
        mask.accept(id_)
    return True


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "string", "format": "path"}, '"/tmp"', "1"),
        ({"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1}, "1234567890123456789", "9" * 19),
        ({"type": "integer", "minimum": -(2**63)}, str(-(2**62)), "-" + "9" * 19),
        ({"type": "integer", "maximum": 2**53 + 1}, str(2**53), str(2**53 + 2)),
        ({"type": "number", "minimum": 0, "maximum": 1e17}, "0.5", "-0.5"),
        ({"anyOf": [{"type": "number"}, {"type": "string", "pattern": AHEAD}]}, "1.5", '"x"'),
        ({"type": "string", "pattern": r"^f\(?=1$"}, '"f(=1"', '"f"'),
        ({"type": "string", "pattern": "^[(?=]a$"}, '"?a"', '"a"'),
        ({"type": "string", "default": "(?=a)", "examples": ["(?!b)"], "description": "x-guidance (?<=c)"}, '"d"', "1"),
        ({"enum": ["(?=a)", {"pattern": "(?=b)", "multipleOf": 99_991}]}, '"(?=a)"', '"b"'),
        ({"oneOf": [CAT, DOG]}, '{"kind":"dog","age":3}', '{"kind":"cow"}'),
        ({"oneOf": [{"$ref": "#/$defs/c"}, DOG], "$defs": {"c": CAT}}, '{"kind":"cat"}', "{}"),
        ({"oneOf": [{"type": "null"}, CAT]}, "null", "1"),
        ({**MAP, "propertyNames": {"type": "string"}}, '{"a":1}', '{"a":null}'),
        ({**MAP, "propertyNames": {"enum": ["a", "b"]}}, '{"b":1}', '{"c":1}'),
        ({"propertyNames": {"enum": ["a", "b"]}, **MAP}, '{"b":1}', '{"c":1}'),
        ({**MAP, "propertyNames": {"$ref": "#/$defs/e"}, "$defs": {"e": {"enum": ["a"]}}}, '{"a":1}', '{"c":1}'),
        ({**MAP, "propertyNames": {"pattern": "^k[0-9]$"}}, '{"k1":1}', '{"c":1}'),
        ({"type": "object", "propertyNames": {"minLength": 1, "maxLength": 2}}, '{"ab":1}', '{"abc":1}'),
        ({"type": "object", "properties": {"a": True}, "unevaluatedProperties": False}, '{"a":1}', '{"b":1}'),
        ({"type": "array", "maxItems": 1, "uniqueItems": True}, "[1]", "[1,1]"),
        ({"type": "array", "uniqueItems": False}, "[1,1]", "1"),
        ({"$ref": "#/components/schemas/a", "components": {"schemas": {"a": {"type": "null"}}}}, "null", "1"),
        ({"type": "array", "prefixItems": [{"type": "null"}, {"$ref": "#/prefixItems/0"}]}, "[null,null]", "[null,1]"),
    ],
)  # fmt: skip
def test_ordinary_schema_is_enforced_in_full(
    grammars: Grammars, tokenizer: Tokenizer, schema: dict[str, Any], good: str, bad: str
) -> None:
    assert enforceable(schema).left_out == ()
    assert permits(grammars, tokenizer, schema, good)
    assert not permits(grammars, tokenizer, schema, bad)


@pytest.mark.parametrize(
    ("schema", "left_out", "good", "bad"),
    [
        ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, ("uniqueItems",), "[1]", '["a"]'),
        ({"type": "string", "pattern": AHEAD}, ("pattern",), '"x"', "1"),
        ({"type": "string", "pattern": r"(a)\1"}, ("pattern",), '"x"', "1"),
        ({"anyOf": [{"type": "string", "pattern": AHEAD}, {"type": "null"}]}, ("pattern",), '"x"', "1"),
        ({"type": "number", "minimum": -3.4028234663852886e38}, ("minimum",), "1", '"1"'),
        ({"type": "number", "maximum": 1.7976931348623157e308}, ("maximum",), "1e30", '"1"'),
        ({"type": "integer", "minimum": 0, "maximum": 2**64 - 1}, ("maximum",), str(2**64 - 1), "-1"),
        ({"type": "integer", "maximum": 10**400}, ("maximum",), "1", '"1"'),
        ({"type": "integer", "minimum": 10**18}, ("minimum",), "1", '"1"'),
        ({"type": "number", "exclusiveMinimum": 1e-300}, ("exclusiveMinimum",), "1", '"1"'),
        ({"oneOf": [POINT, PAIR]}, (), '{"y":1}', "{}"),
        ({"oneOf": [{"type": "object", "properties": {"a": {}}}, POINT]}, ("oneOf",), '{"x":1}', "1"),
        ({"type": "string", "not": {"const": "a"}}, ("not",), '"b"', "1"),
        ({"type": "integer", "if": {"minimum": 3}, "then": {"maximum": 9}}, ("if",), "1", '"1"'),
        ({"type": "array", "contains": {"const": 1}, "minContains": 2}, ("contains",), "[1,1]", "1"),
        ({"type": "object", "dependentRequired": {"a": ["b"]}}, ("dependentRequired",), "{}", "1"),
        ({"type": "object", "propertyNames": {"format": "email"}}, ("propertyNames",), "{}", "1"),
        ({"type": "object", "properties": {"a": {}}, "minProperties": 2}, ("minProperties",), "{}", "1"),
        ({"type": "integer", "x-order": 3, "nullable": True}, ("x-order", "nullable"), "1", "null"),
        ({"type": "integer", "x-guidance": {"lenient": True}}, ("x-guidance",), "1", "null"),
    ],
)
def test_keyword_that_cannot_be_enforced_is_named(
    grammars: Grammars, tokenizer: Tokenizer, schema: dict[str, Any], left_out: tuple[str, ...], good: str, bad: str
) -> None:
    assert enforceable(schema).left_out == left_out
    assert permits(grammars, tokenizer, schema, good)
    assert not permits(grammars, tokenizer, schema, bad)


@pytest.mark.parametrize("name", ["default", "examples", "components"])
def test_reference_into_a_value_is_within_the_limits(name: str) -> None:
    schema = {"$ref": f"#/{name}", name: {"type": "integer", "multipleOf": 99_991}}
    with pytest.raises(InvalidRequestError, match="multipleOf"):
        check_form(StructuredOutput("json", json.dumps(schema)))


@pytest.mark.parametrize(
    "schema",
    [
        {"required": [{}], "properties": {"a": {}}, "minProperties": 3},
        {"oneOf": 5, "anyOf": 6, "allOf": 7},
        {"allOf": 7, "anyOf": 6, "oneOf": 5},
        {"$ref": "#/x", "x": {}, "$defs": 5},
        {"oneOf": [{"enum": 5, "type": 5, "properties": 5, "required": 5}, {"properties": {"a": 5}}, 5, []]},
        {"propertyNames": 5, "patternProperties": 5, "pattern": 5, "format": [], "$ref": 5, "uniqueItems": 5},
        {"propertyNames": {"enum": 5}},
        {"propertyNames": {"enum": [1, []]}},
        {"minimum": float("nan"), "maximum": float("inf"), "exclusiveMinimum": True},
        {"$ref": "#/", "$defs": 5},
        {"$ref": "#/$defs"},
        {"$ref": "#/allOf/0", "allOf": [{"$ref": "#/allOf/1"}, {"$ref": "#/allOf/0"}]},
    ],
)
def test_malformed_schema_is_rewritten_without_an_error(schema: dict[str, Any]) -> None:
    enforceable(schema)


@pytest.mark.parametrize("mode", ["validation", "serialization"])
@pytest.mark.parametrize("type_", TYPES)
def test_schema_that_pydantic_writes_is_taken(grammars: Grammars, type_: Any, mode: Literal["validation"]) -> None:
    schema = TypeAdapter(dict[str, type_]).json_schema(mode=mode)
    assert grammars.mask(SamplingParams(form=StructuredOutput("json", json.dumps(schema))), [5], "local") is not None


def test_regular_patterns_are_distinguished_from_others() -> None:
    for pattern in ("a", r"f\(?=1", "[(?=]", r"\\(?:a)", "(?i)a", r"[\]](?P<a>b)", r"[\b]"):
        assert is_regular(pattern), pattern
    for pattern in ("(?=a)", "a(?!b)", "(?<=a)b", "(?<!a)b", r"\\(?=a)", "[a](?=b)", r"(a)\1", r"\bword"):
        assert not is_regular(pattern), pattern


def test_branches_are_exclusive_if_no_value_matches_two() -> None:
    optional = {**CAT, "required": []}
    for exclusive in (
        [CAT, DOG],
        [optional, DOG],
        [{"type": "null"}, {"type": "string"}, CAT],
        [{"const": 1}, {"const": "1"}],
    ):
        assert are_exclusive({}, exclusive), exclusive
    for shared in (
        [CAT, CAT],
        [optional, {**DOG, "required": []}],
        [{"const": 1}, {"enum": [1.0]}],
        [{}, CAT],
        [CAT, {"enum": [{}]}],
    ):
        assert not are_exclusive({}, shared), shared
