"""Limits of the control groups that this process is in, from its own group up to the root, in versions 1 and 2.

A group is bounded by each of its parents too. systemd sets `MemoryMax=` of a unit on the unit's own group, a slice or a
container runtime sets the limit on a parent. Files: https://docs.kernel.org/admin-guide/cgroup-v2.html and
https://docs.kernel.org/admin-guide/cgroup-v1/.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

PROC = Path("/proc/self")

_UNLIMITED = 1 << 62
"""Bound of limits: version 1 names the largest number of whole pages where there is no limit."""


@dataclass(frozen=True, slots=True)
class MemoryGroup:
    """Memory of one control group, in bytes."""

    limit: int
    used: int
    """Memory that the kernel cannot reclaim without swapping. The page cache of files is not part of it."""

    @property
    def available(self) -> int:
        """Bytes that processes of this group may still allocate."""
        return max(0, self.limit - self.used)


def memory_group(proc: Path = PROC) -> MemoryGroup | None:
    """Return the group with the least memory available; None without a limit.

    proc: folder of this process in the proc file system.
    """
    limited = [found for group in _groups(proc, "memory") if (found := _memory_of(group)) is not None]
    return min(limited, key=lambda group: group.available, default=None)


def cpu_quota(proc: Path = PROC) -> float | None:
    """Return the CPU time per second that this process and its siblings may use; None without a quota."""
    quotas = [found for group in _groups(proc, "cpu") if (found := _quota_of(group)) is not None]
    return min(quotas, default=None)


def num_oom_kills(proc: Path = PROC) -> int | None:
    """Return how many processes of this process's groups the kernel killed for lack of memory; None if unknown.

    A kill counts in the group of the killed process, under version 2 also in its parents.
    """
    for group in _groups(proc, "memory"):
        for name in ("memory.events", "memory.oom_control"):
            counts = _counts(group / name)
            if "oom_kill" in counts:
                return counts["oom_kill"]
    return None


def _memory_of(group: Path) -> MemoryGroup | None:
    """Read the memory of a group; None if it has no limit, as the root group."""
    if (group / "memory.current").exists():
        # The kernel slows a group above memory.high down until it is below again.
        limits = [_number(group / name) for name in ("memory.max", "memory.high")]
        used, prefix, mapped = _number(group / "memory.current"), "", "file_mapped"
    else:
        limits = [_number(group / "memory.limit_in_bytes")]
        # Without the prefix, version 1 leaves out the groups below.
        used, prefix, mapped = _number(group / "memory.usage_in_bytes"), "total_", "mapped_file"
    limit = min((each for each in limits if each is not None), default=None)
    if limit is None or used is None:
        return None
    held = _counts(group / "memory.stat")
    # Mapped files, such as libraries, are mostly active. Without them the process would read them again and again.
    active = max(0, held.get(f"{prefix}active_file", 0) - held.get(f"{prefix}{mapped}", 0))
    cached = held.get(f"{prefix}inactive_file", 0) + active + held.get(f"{prefix}slab_reclaimable", 0)
    return MemoryGroup(limit, max(0, used - cached))


def _quota_of(group: Path) -> float | None:
    """Read the CPUs that a group may use; None without a quota."""
    quota, _, period = _text(group / "cpu.max").partition(" ")
    if not quota:
        quota, period = _text(group / "cpu.cfs_quota_us"), _text(group / "cpu.cfs_period_us")
    # Without a quota, the first number is "max" in version 2 and -1 in version 1.
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() and int(period) else None


def _groups(proc: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of this process's groups that may have files of `controller`, each before its parent."""
    mounts = _mounts(proc, controller)
    for line in _text(proc / "cgroup").splitlines():
        number, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        version = 2 if number == "0" and not names else 1
        if version == 1 and controller not in names.split(","):
            continue
        for root, folder in mounts[version]:
            own = _below(PurePosixPath(path), root)
            yield from (folder / each for each in (own, *own.parents))


def _below(path: PurePosixPath, root: PurePosixPath) -> PurePosixPath:
    """Return the part of a group's path below a mount of `root`.

    In a container, the path may be the host's and the mount the container's own group: the path is then not below the
    mount, or leads out of it, and the mount itself is the group.
    """
    if path.is_relative_to(root) and ".." not in path.parts:
        return path.relative_to(root)
    return PurePosixPath()


def _mounts(proc: Path, controller: str) -> dict[int, list[tuple[PurePosixPath, Path]]]:
    """Return the mounted group and the folder of each mount that has `controller`, by version.

    A line reads `31 30 0:32 ROOT FOLDER OPTIONS ... - TYPE SOURCE SUPER_OPTIONS` (proc_pid_mountinfo(5)).
    """
    found: dict[int, list[tuple[PurePosixPath, Path]]] = {1: [], 2: []}
    for line in _text(proc / "mountinfo").splitlines():
        mount, _, kind = line.partition(" - ")
        fields, (fstype, _, *options) = mount.split(), (*kind.split(), "", "")
        place = (PurePosixPath(_unescaped(fields[3])), Path(_unescaped(fields[4]))) if len(fields) > 4 else None
        if place is not None and fstype == "cgroup2":
            found[2].append(place)
        elif place is not None and fstype == "cgroup" and controller in options[0].split(","):
            found[1].append(place)
    return found


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def _counts(file: Path) -> dict[str, int]:
    """Read lines of a name and a number; empty if the file is missing."""
    pairs = (line.split() for line in _text(file).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _number(file: Path) -> int | None:
    """Read a number of bytes; None if the file is missing, or names no limit."""
    text = _text(file)
    return int(text) if text.isdigit() and int(text) < _UNLIMITED else None


def _text(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""
