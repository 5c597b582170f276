"""Fixtures: a real server with the real model, and a window of each browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browsers.engines import Engine, firefox, missing, webkit
from tests.conftest import default_cache_dir
from tests.e2e.server_process import ServerProcess, ebb_process

STATIC = Path(__file__).parents[2] / "app" / "static"


@pytest.fixture(scope="package")
def server(model_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Run `ebb serve` with the default model for all tests of the package."""
    del model_path
    if not (STATIC / "index.html").is_file():
        pytest.skip("The page is not built; run make setup")
    flags = ("--cache-dir", str(default_cache_dir()), "--kv-memory", "128MiB", "--redis-memory", "64MiB")
    with ebb_process(tmp_path_factory.mktemp("browsers"), *flags) as process:
        yield process


@pytest.fixture(scope="package", params=["firefox", "webkit"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Start a browser, which all tests share."""
    if lacking := missing():
        pytest.skip(f"{', '.join(lacking)} not installed; run scripts/get-test-tools browsers")
    place = tmp_path_factory.mktemp("profiles") / str(request.param)
    with firefox(place) if request.param == "firefox" else webkit(place) as opened:
        yield opened
