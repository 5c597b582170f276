"""Cores and memory of the host that this process may use, within its affinity and its control group."""

import ctypes
import os
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")
_NO_LIMIT = 1 << 62


def usable_cores() -> int:
    """Count the physical cores of the CPUs that this process may run on, within its control group's quota; at least 1.

    Two compute threads on one core's two hyperthreads only wait for each other, and threads beyond the quota are
    stopped in the middle of a kernel.
    """
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    cores = {siblings_of(cpu) for cpu in allowed}
    return max(1, min(len(cores), _cpu_quota()))


def available_memory() -> int:
    """Return the number of bytes available without swapping, within the control group's limit."""
    return min(_system_memory(), _cgroup_memory())


def return_freed_memory() -> None:
    """Return freed memory to the system. Call after freeing a large amount.

    glibc keeps freed memory otherwise: a model whose weights were packed would stay resident a second time. Other C
    libraries have no such call, and need none.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(ctypes.c_size_t(0))


def siblings_of(cpu: int) -> str:
    """Return a name of the physical core of one logical CPU; without sysfs every CPU is a core."""
    try:
        return Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text().strip()
    except OSError:
        return str(cpu)


def _cpu_quota() -> int:
    """Return the number of whole CPUs within the quota of control groups v2."""
    quota, _, period = _cgroup_text("cpu.max").partition(" ")
    return int(quota) // int(period) if quota.isdigit() else _NO_LIMIT


def _system_memory() -> int:
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _cgroup_memory() -> int:
    limit, current = _cgroup_text("memory.max"), _cgroup_text("memory.current")
    return max(0, int(limit) - int(current)) if limit.isdigit() and current.isdigit() else _NO_LIMIT


def _cgroup_text(name: str) -> str:
    """Read a file of the control group; empty if it is missing, as in the root group or under control groups v1."""
    try:
        return (_CGROUP / name).read_text().strip()
    except OSError:
        return ""
