"""One setting for how large the tests are: `pytest --size full` (make test-full), small otherwise. A pytest plugin."""

from dataclasses import dataclass
from typing import TypeVar

import pytest

T = TypeVar("T")


@dataclass(frozen=True)
class Size:
    """The chosen size; `size.pick(small=..., full=...)` gives a test its numbers."""

    full: bool

    def pick(self, *, small: T, full: T) -> T:
        """The value for the chosen size."""
        return full if self.full else small


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--size", choices=("small", "full"), default="small", help="how large the tests are")


@pytest.fixture(scope="session")
def size(pytestconfig: pytest.Config) -> Size:
    """How large this run's tests are."""
    return Size(full=pytestconfig.getoption("--size") == "full")
