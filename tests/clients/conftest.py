"""Fixtures: one server for all clients, and runs of their programs. `make test-clients` makes the environments."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.environments import Environment
from tests.clients.served import Run, Served, served


@pytest.fixture(scope="session")
def ebb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve the default model until the last test."""
    with served(tmp_path_factory.mktemp("served")) as server:
        yield server


@pytest.fixture(scope="session")
def run(ebb: Served, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a function that runs a client's program once, and returns what it reported."""
    reports: dict[tuple[Environment, str], dict[str, Any]] = {}

    def report(client: Environment, program: str) -> dict[str, Any]:
        if (client, program) not in reports:
            reports[client, program] = ebb.run(client, program, tmp_path_factory.mktemp(client.folder.name))
        return reports[client, program]

    return report
