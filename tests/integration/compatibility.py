"""The compatibility matrix of docs/reference/api. Each row is declared by a mark on the test that verifies it."""

import importlib.metadata
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

import pytest

row = pytest.mark.row
"""`row(package, call, result)` declares the row that the decorated test verifies.

package: the client's distribution name, or a package of an environment of its own (`Pinned`).
call: the call as a user writes it.
result: the outcome for the user, in a few words.
"""


@dataclass(frozen=True)
class Pinned:
    """Package that is not installed alongside Ebb, at the version that a lock file pins.

    runtime: named where the package is not for Python.
    """

    name: str
    version: str
    runtime: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.version}" + (f" ({self.runtime})" if self.runtime else "")


HEAD = ["| client | call | result |", "| --- | --- | --- |"]


def table(*modules: ModuleType) -> str:
    """Render the rows that the tests of `modules` verify as a Markdown table, in the order of the tests."""
    return "\n".join([*HEAD, *(line for module in modules for line in _lines(module))])


def _lines(module: ModuleType) -> Iterator[str]:
    for test in vars(module).values():
        for mark in getattr(test, "pytestmark", ()):
            if mark.name == row.name:
                package, call, result = mark.args
                yield f"| {_label(package)} | `{call}` | {result} |"


def _label(package: str | Pinned) -> str:
    return f"{package} {importlib.metadata.version(package)}" if isinstance(package, str) else str(package)
