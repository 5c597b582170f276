"""Fixtures: one server for all heavy clients. `make clients` installs the clients and runs these tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.agents.model import write_model
from tests.clients.heavy.served import Served, served


@pytest.fixture(scope="session")
def ebb(model_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a model of random weights with a long window until the last test."""
    folder = tmp_path_factory.mktemp("served")
    with served(folder, write_model(model_path, folder), model_path) as server:
        yield server
