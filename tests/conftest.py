"""Fixtures for all tests."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server_environment import NOTHING_KEPT
from tests.sizes import Size

# A server of a test would write its KV blocks and packed weights next to the models of all tests. Tests of these name a
# folder.
for name, value in NOTHING_KEPT.items():
    os.environ.setdefault(name, value)


def default_cache_dir() -> Path:
    """Return the default cache directory of `ebb serve`, so that the server and the tests share one download."""
    chosen = os.environ.get("EBB_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(chosen) if chosen else Path(base) / "ebb"


@pytest.fixture(scope="session")
def model_path() -> Path:
    """Return the folder of the default model. Pull the model on first use."""
    # Imported late, because the unit tests load this file and must run without torch.
    from models.download.pull import pull_default

    return pull_default(default_cache_dir(), print)


@pytest.fixture(scope="session")
def shallow_model(model_path: Path, tmp_path_factory: pytest.TempPathFactory, size: Size) -> Path:
    """Return the folder of a model for tests that assert nothing about what the text says.

    The model is three layers of the default one, or all of them at full size.
    """
    if size.full:
        return model_path
    from tests.shallow_model import save_shallow

    return save_shallow(model_path, tmp_path_factory.mktemp("shallow") / model_path.name)


@pytest.fixture(scope="session", autouse=True)
def _new_databases_are_copies() -> Iterator[None]:
    """Run the migrations once for all new databases of this process, if any collected test can open one."""
    # Imported late, because tests without a database must run without the packages of the server.
    if "app.storage.sqlite.database" not in sys.modules:
        yield
        return
    from tests.database_copies import copied_databases

    with copied_databases():
        yield
