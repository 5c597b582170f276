"""The type of the file system at a path."""

from pathlib import Path

import pytest

from cache_tiers.config import DiskConfig
from cache_tiers.disk.mount import REMOTE, file_system_of, type_at
from cache_tiers.disk.tier import why_unsuitable

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


@pytest.mark.parametrize("kind", sorted(REMOTE))
def test_network_file_system_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    mounts = f"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 22 0:40 / {tmp_path} rw - {kind} host:/export rw\n"
    real = Path.read_text

    def read_text(self: Path, *rest: str, **named: str) -> str:
        return mounts if str(self) == "/proc/self/mountinfo" else real(self, *rest, **named)

    monkeypatch.setattr(Path, "read_text", read_text)
    for max_bytes in (None, 1 << 30):
        unsuitable = why_unsuitable(DiskConfig(tmp_path / "kv", max_bytes))
        assert unsuitable is not None
        assert f"network file system ({kind})" in unsuitable.reason
        assert "--disk-kv-dir" in unsuitable.reason
