"""Pytest plugin with one setting for the size of all tests.

- `small`, the default: `make test`.
- `services`: small tests, and those that need more models, processes, tools or views of the page than `make test` has
  time for: `make test-services`.
- `full`: large tests, and all of the others: `make test-full`.
"""

from dataclasses import dataclass
from typing import TypeVar

import pytest

from tests.many_models import MARK as MANY_MODELS

T = TypeVar("T")

MANY_PROCESSES = pytest.mark.many_processes
TOOL = pytest.mark.tool
PAGE = pytest.mark.page
LARGE = pytest.mark.large
LONG = pytest.mark.long

_LEFT_OUT = {"small": (MANY_MODELS, MANY_PROCESSES, TOOL, PAGE, LARGE), "services": (LARGE,), "full": ()}


@dataclass(frozen=True)
class Size:
    """Size of the tests in this run. `size.pick(small=..., full=...)` gives a test its numbers."""

    full: bool

    def pick(self, *, small: T, full: T) -> T:
        """Return the value for this run's size."""
        return full if self.full else small


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--size", choices=tuple(_LEFT_OUT), default="small", help="how large the tests are")


@pytest.fixture(scope="session")
def size(pytestconfig: pytest.Config) -> Size:
    """Return the size of the tests in this run."""
    return Size(full=pytestconfig.getoption("--size") == "full")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    marks = _LEFT_OUT[config.getoption("--size")]
    kept, left_out = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        (left_out if any(item.get_closest_marker(mark.name) for mark in marks) else kept).append(item)
    config.hook.pytest_deselected(items=left_out)
    # A long test that starts last keeps one process busy while the others have nothing left to do.
    items[:] = sorted(kept, key=lambda item: item.get_closest_marker(LONG.name) is None)
