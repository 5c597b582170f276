"""The compatibility matrix of docs/api.md. Each row is declared by a mark on the test that verifies it."""

import importlib.metadata
from collections.abc import Iterator
from types import ModuleType

import pytest

row = pytest.mark.row
"""`row(package, call, result)` declares the row that the decorated test verifies.

package: the client's distribution name.
call: the call as a user writes it.
result: the outcome for the user, in a few words.
"""

HEAD = ["| client | call | result |", "| --- | --- | --- |"]


def table(*modules: ModuleType) -> str:
    """Render the rows that the tests of `modules` verify as a Markdown table, in the order of the tests."""
    return "\n".join([*HEAD, *(line for module in modules for line in _lines(module))])


def _lines(module: ModuleType) -> Iterator[str]:
    for test in vars(module).values():
        for mark in getattr(test, "pytestmark", ()):
            if mark.name == row.name:
                package, call, result = mark.args
                yield f"| {package} {importlib.metadata.version(package)} | `{call}` | {result} |"
