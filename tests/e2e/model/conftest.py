"""Fixtures: a real server with a real model, for all tests of the package."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import default_cache_dir
from tests.e2e.server_process import ServerProcess, ebb_process


@pytest.fixture(scope="package")
def server_process(
    page_files: Path, shallow_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    """Run `ebb serve`. A test that kills the server must start it again."""
    model = ("--model", str(shallow_model), "--cache-dir", str(default_cache_dir()))
    memory = ("--kv-memory", "192MiB", "--redis-memory", "256MiB")
    with ebb_process(tmp_path_factory.mktemp("e2e"), *model, *memory) as process:
        yield process


@pytest.fixture(scope="package")
def server(server_process: ServerProcess) -> str:
    """Return the server's base URL."""
    return server_process.url
