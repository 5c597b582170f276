"""A listener for one test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.listener import Listener


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[Listener]:
    """Closed at its end."""
    listener = Listener(tmp_path / "s")
    yield listener
    listener.close()
