"""Cores and memory of the host that this process may use, within its affinity and its control groups."""

import ctypes
import os
import sys
from pathlib import Path

from engine.process.control_groups import cpu_quota, memory_group


def usable_cores() -> int:
    """Count the physical cores of the CPUs that this process may run on, within its control groups' quota; at least 1.

    Two compute threads on one core's two hyperthreads only wait for each other, and threads beyond the quota are
    stopped in the middle of a kernel.
    """
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    cores = {siblings_of(cpu) for cpu in allowed}
    return max(1, min(len(cores), _whole_cpus()))


def available_memory() -> int:
    """Return the number of bytes available without swapping, within the limits of the control groups."""
    group = memory_group()
    return _system_memory() if group is None else min(_system_memory(), group.available)


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


def _whole_cpus() -> int:
    """Return the number of whole CPUs within the quota of the control groups."""
    quota = cpu_quota()
    return sys.maxsize if quota is None else int(quota)


def _system_memory() -> int:
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
