"""Fixture of a listener."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.listener import Listener


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[Listener]:
    """Open a listener, and close it at the end of the test."""
    listener = Listener(tmp_path / "s")
    yield listener
    listener.close()
