"""The file system that a folder is on, as far as it matters for KV blocks."""

from pathlib import Path
from typing import Final

IN_MEMORY: Final = frozenset({"tmpfs", "ramfs", "hugetlbfs"})
REMOTE: Final = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "afs", "ceph", "lustre", "gpfs", "beegfs", "gfs2"),
        *("ocfs2", "orangefs", "pvfs2", "coda", "ncpfs", "davfs", "fuse.sshfs", "fuse.glusterfs", "fuse.s3fs"),
        *("fuse.rclone", "fuse.davfs2", "fuse.ceph", "fuse.mfs", "fuse.juicefs", "fuse.gcsfuse", "fuse.goofys"),
    }
)


def file_system_of(folder: Path) -> str:
    """Return the type of the file system on which `folder` is or would be created; empty if it is unknown."""
    path = folder.resolve()
    try:
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return ""
    longest, kind = -1, ""
    for line in mounts:
        # "36 35 98:0 /root /mount/point options - type source more", with spaces as octal escapes.
        before, _, after = line.partition(" - ")
        point = before.split()[4].encode().decode("unicode_escape")
        # A later mount hides an earlier one of the same place.
        if path.is_relative_to(point) and len(point) >= longest:
            longest, kind = len(point), after.split()[0]
    return kind
