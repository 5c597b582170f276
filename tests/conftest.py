"""What every test may ask for."""

import os
from pathlib import Path

import pytest


def default_cache_dir() -> Path:
    """The cache directory that `ebb serve` uses by default, so that the model is fetched once for both."""
    chosen = os.environ.get("EBB_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(chosen) if chosen else Path(base) / "ebb"


@pytest.fixture(scope="session")
def model_path() -> Path:
    """The folder of the default model, pulled on the first use."""
    # The unit tests share this file and do without torch.
    from models.pull import pull_default

    return pull_default(default_cache_dir(), print)
