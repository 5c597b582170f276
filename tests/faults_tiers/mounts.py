"""File systems of a test's own: on an image, in memory, and laid over another. Root alone may mount them."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
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
def mounted_image(
    image: Path, folder: Path, size: str = "", kind: str = "ext4", options: Sequence[str] = ()
) -> Iterator[Path]:
    """Mount the file system of `image`, which is made with `size` and the options of mke2fs if it does not exist."""
    if not image.exists():
        if shutil.which("mke2fs") is None:
            pytest.skip("not run: no mke2fs (apt-get install e2fsprogs)")
        subprocess.run(["truncate", "-s", size, image], check=True)
        subprocess.run(["mke2fs", "-q", "-t", kind, "-m", "0", *options, image], check=True)
    with mounted(folder, "-o", "loop", image):
        yield folder
