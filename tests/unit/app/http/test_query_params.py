"""Query parameters of all operations: the OpenAPI document describes exactly the values that a route takes."""

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from starlette.datastructures import QueryParams

from app.http.query_params import Query
from app.openapi import openapi_document
from app.routes.api import OPERATIONS
from engine.api.errors import InvalidRequestError

VALUES = (
    *("", " ", "-1", "0", "1", "007", "1.5", "1e3", "\u0661", "9" * 18, "9" * 19),
    *("true", "maybe", "chat", "asc", "user", "json", "0-4,9", "9-", "x" * 300),
)
"""Values of every kind. Each bound that is described adds those at it."""

PLACES = {"cursor"}
"""Parameters that are described as texts, and have only values of earlier answers."""


def described() -> Iterator[tuple[str, type[Query], dict[str, Any]]]:
    for operation in OPERATIONS:
        path = operation.path.replace(":path}", "}")
        found = openapi_document()["paths"][path][operation.method.lower()].get("parameters", ())
        for each in found:
            if each["in"] == "query":
                yield f"{operation.method} {path}: {each['name']}", operation.query, each


ROWS = list(described())


def values_at(schema: dict[str, Any]) -> list[str]:
    """Return values on both sides of each described bound."""
    bounds = [schema[name] for name in ("minimum", "maximum") if name in schema]
    longest = schema.get("maxLength", 0)
    return [str(bound + step) for bound in bounds for step in (-1, 0, 1)] + ["1" * longest, "1" * (longest + 1)]


def is_described(value: str, schema: dict[str, Any]) -> bool:
    """Return whether a schema describes the value that a text stands for in a query."""
    kind: type[Any] = {"integer": int, "number": float}.get(schema["type"], str)
    if kind is not str and not (value.isascii() and value.replace(".", "", kind is float).isdigit()):
        return False
    given = [value] * bool(value) if schema["type"] == "array" else kind(value)
    return not list(Draft202012Validator(schema).iter_errors(given))


def fault(query: type[Query], given: dict[str, str]) -> str | None:
    """Return the parameter for which a query is refused; None for a query that is taken."""
    try:
        query.parse(QueryParams(given))
    except InvalidRequestError as error:
        return error.param
    return None


@pytest.mark.parametrize(("query", "param"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_exactly_the_described_values_are_taken(query: type[Query], param: dict[str, Any]) -> None:
    name, schema = param["name"], param["schema"]
    needed = {"q": "tide", "stream": "true", "parts": "true"}
    others = {each: value for each, value in needed.items() if each in query.declared and each != name}
    for value in (*VALUES, *values_at(schema), *schema.get("enum", ())):
        found = fault(query, {**others, name: value})
        assert found in (None, name)
        assert (found is None) == is_described(value, schema) or (name in PLACES and found is not None), value


def test_required_parameters_are_described() -> None:
    for name, query, param in ROWS:
        assert (fault(query, {}) == param["name"]) == param["required"], name
