"""The compatibility matrix of docs/api.md: each of its rows is a mark on the test that holds it."""

import importlib.metadata
from collections.abc import Iterator
from types import ModuleType

import pytest

row = pytest.mark.row
"""row(package, call, result) says of the test that it decorates what it holds. package: the client's distribution.
call: as one writes it. result: what its user gets, in a few words."""

HEAD = ["| client | call | result |", "| --- | --- | --- |"]


def table(*modules: ModuleType) -> str:
    """The rows that the tests of `modules` hold, in the order of the tests, as Markdown."""
    return "\n".join([*HEAD, *(line for module in modules for line in _lines(module))])


def _lines(module: ModuleType) -> Iterator[str]:
    for test in vars(module).values():
        for mark in getattr(test, "pytestmark", ()):
            if mark.name == row.name:
                package, call, result = mark.args
                yield f"| {package} {importlib.metadata.version(package)} | `{call}` | {result} |"
