"""A disk that hangs, is slow or full, refuses changes or cannot read, as a separate file system (FUSE)."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest

from tests.waiting import until

Mode = Literal["ok", "hang", "slow", "full", "read-only", "broken"]

SOURCE = Path(__file__).with_name("disk.c")


class Disk:
    """A mounted disk.

    folder: its files.
    below: the same files without the disk in front.
    """

    def __init__(self, folder: Path, below: Path, mode: Path) -> None:
        self.folder = folder
        self.below = below
        self._mode = mode

    def be(self, mode: Mode) -> None:
        """Change how the disk behaves from now on."""
        self._mode.write_text(mode)


@contextmanager
def disk_at(home: Path) -> Iterator[Disk]:
    """Mount a disk for the duration of the context. Skip the test where no file system can be mounted."""
    if not Path("/dev/fuse").exists() or shutil.which("fusermount3") is None or shutil.which("pkg-config") is None:
        pytest.skip("a file system of the test's own needs FUSE: apt-get install fuse3 libfuse3-dev pkg-config")
    below, folder, mode, program = home / "below", home / "disk", home / "mode", home / "program"
    below.mkdir()
    folder.mkdir()
    mode.write_text("ok")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], check=True, capture_output=True, text=True)
    subprocess.run(["cc", "-O1", "-o", program, SOURCE, *flags.stdout.split()], check=True)
    with subprocess.Popen([program, below, mode, folder, "-f"], stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: folder.is_mount() or process.poll() is not None)
            if process.poll() is not None:
                pytest.skip("no file system can be mounted here")
            made = Disk(folder, below, mode)
            yield made
            made.be("ok")
        finally:
            mode.write_text("ok")
            subprocess.run(["fusermount3", "-u", "-z", folder], check=False)
            process.terminate()
