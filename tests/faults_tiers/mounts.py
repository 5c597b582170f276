"""File systems of a test's own: on an image, in memory, and laid over another. Root alone may mount them."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(folder: Path, *arguments: str | Path) -> Iterator[Path]:
    """Mount something at `folder` for the duration of the context. Skip the test where nothing can be mounted."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("not run: only root can mount the file system that this fault needs")
    folder.mkdir(parents=True, exist_ok=True)
    made = subprocess.run(["mount", *arguments, folder], check=False, capture_output=True, text=True)
    if made.returncode != 0:
        pytest.skip(f"not run: this file system cannot be mounted here: {made.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=False)


@contextmanager
def mounted_image(image: Path, folder: Path, size: str = "") -> Iterator[Path]:
    """Mount the ext4 file system of `image`, which is made with `size` if it does not exist."""
    if not image.exists():
        if shutil.which("mkfs.ext4") is None:
            pytest.skip("not run: no mkfs.ext4 (apt-get install e2fsprogs)")
        subprocess.run(["truncate", "-s", size, image], check=True)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], check=True)
    with mounted(folder, "-o", "loop", image):
        yield folder
