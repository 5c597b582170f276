"""Fixtures for all tests."""

import os
from pathlib import Path

import pytest


def default_cache_dir() -> Path:
    """Return the default cache directory of `ebb serve`, so that the server and the tests share one download."""
    chosen = os.environ.get("EBB_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(chosen) if chosen else Path(base) / "ebb"


@pytest.fixture(scope="session")
def model_path() -> Path:
    """Return the folder of the default model. Pull the model on first use."""
    # Imported late, because the unit tests load this file and must run without torch.
    from models.pull import pull_default

    return pull_default(default_cache_dir(), print)
