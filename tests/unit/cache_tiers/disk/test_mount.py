"""The type of the file system at a path."""

from pathlib import Path

import pytest

from cache_tiers.disk.mount import file_system_of, type_at

MOUNTS = """\
22 1 8:1 / / rw - ext4 /dev/sda1 rw
30 22 0:40 / /srv/my\\040k\u00fche rw shared:1 - nfs4 host:/ rw
31 22 0:41 / /run rw - tmpfs tmpfs rw
32 31 0:42 / /run rw - xfs /dev/sdb1 rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/ann/.cache", "ext4"),
        ("/srv/my k\u00fche/kv", "nfs4"),
        ("/srv/my", "ext4"),
        ("/running", "ext4"),
        ("/run/kv", "xfs"),
    ],
)
def test_longest_and_last_mount_decides(path: str, kind: str) -> None:
    assert type_at(Path(path), MOUNTS) == kind


def test_own_mounts_are_read() -> None:
    assert file_system_of(Path("/proc/self")) == "proc"
