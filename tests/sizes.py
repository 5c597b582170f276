"""Pytest plugin with one setting for the size of all tests.

- `small`, the default: `make test`.
- `models`: small tests of every combination of models and kernels (tests/many_models.py): `make test-models`.
- `full`: large tests of every combination: `make test-full`.
"""

from dataclasses import dataclass
from typing import TypeVar

import pytest

T = TypeVar("T")


@dataclass(frozen=True)
class Size:
    """Size of the tests in this run. `size.pick(small=..., full=...)` gives a test its numbers."""

    full: bool

    def pick(self, *, small: T, full: T) -> T:
        """Return the value for this run's size."""
        return full if self.full else small


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--size", choices=("small", "models", "full"), default="small", help="how large the tests are")


@pytest.fixture(scope="session")
def size(pytestconfig: pytest.Config) -> Size:
    """Return the size of the tests in this run."""
    return Size(full=pytestconfig.getoption("--size") == "full")
