"""Type of the file system of a folder, which decides whether the folder suits KV blocks."""

import re
from pathlib import Path
from typing import Final

IN_MEMORY: Final = frozenset({"tmpfs", "ramfs", "hugetlbfs"})
REMOTE: Final = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "afs", "ceph", "lustre", "gpfs", "beegfs", "gfs2"),
        *("ocfs2", "orangefs", "pvfs2", "coda", "ncpfs", "davfs", "glusterfs", "wekafs", "vboxsf", "vmhgfs", "prl_fs"),
        *("autofs", "fakeowner", "fuse.grpcfuse", "fuse.vmhgfs-fuse", "fuse.gvfsd-fuse", "fuse.kio-fuse"),
        *("fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.rclone", "fuse.davfs2", "fuse.ceph", "fuse.ceph-fuse"),
        *("fuse.mfs", "fuse.moosefs", "fuse.lizardfs", "fuse.juicefs", "fuse.JuiceFS", "fuse.gcsfuse", "fuse.goofys"),
        *("fuse.mount-s3", "fuse.mountpoint-s3", "fuse.blobfuse", "fuse.blobfuse2", "fuse.seaweedfs", "fuse.nfs"),
        *("fuse.fuse-nfs", "fuse.smbnetfs", "fuse.curlftpfs", "fuse.alluxio-fuse", "fuse.fuse_dfs", "fuse.dfuse"),
    }
)


def file_system_of(folder: Path) -> str:
    """Return the type of the file system on which `folder` is or would be created; empty if it is unknown."""
    # The first look at a path mounts what is to be mounted there.
    path = folder.resolve()
    try:
        mountinfo = Path("/proc/self/mountinfo").read_text()
    except OSError:
        return ""
    return type_at(path, mountinfo)


def type_at(path: Path, mountinfo: str) -> str:
    """Return the type of the file system at an absolute path. mountinfo: as in proc_pid_mountinfo(5)."""
    longest, kind = -1, ""
    for line in mountinfo.splitlines():
        # "36 35 98:0 /root /mount/point options - type source more", with spaces as octal escapes.
        before, _, after = line.partition(" - ")
        point = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), before.split()[4])
        # A later mount hides an earlier one of the same place.
        if path.is_relative_to(point) and len(point) >= longest:
            longest, kind = len(point), after.split()[0]
    return kind
