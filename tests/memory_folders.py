"""Pytest plugin: temporary folders in memory, where no test waits for a disk that makes its writes durable.

A test that passes leaves no folder behind (`tmp_path_retention_policy` in pyproject.toml).
"""

import os
import shutil
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")
MIN_FREE = 4 << 30
"""Bytes. The models of three worker processes take a quarter of it."""


def pytest_configure(config: pytest.Config) -> None:
    """Move the temporary folders of this run, unless pytest was given a place for them or memory is short."""
    if config.option.basetemp is None and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= MIN_FREE:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
