"""Description of the machine behind a result, without anything that identifies it."""

import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_INSTRUCTION_SETS = ("amx_bf16", "avx512_bf16", "avx512f", "avx2", "bf16", "asimd")
_PACKAGES = ("torch", "lmcache", "redis")


@dataclass(frozen=True, slots=True)
class Machine:
    """Hardware and software of a measurement.

    cores: cores that this process may use.
    versions: versions of the packages that matter, and of redis-server or valkey-server on PATH.
    """

    cpu: str
    cores: int
    memory_gib: float
    instruction_sets: tuple[str, ...]
    system: str
    python: str
    versions: dict[str, str]


def describe_machine() -> Machine:
    """Describe this machine, on Linux or macOS. Unknown facts are "unknown" or left out."""
    cpuinfo = _read("/proc/cpuinfo")
    name = re.search(r"^model name\s*: (.+)$", cpuinfo, re.MULTILINE)
    flags = re.search(r"^(?:flags|Features)\s*: (.+)$", cpuinfo, re.MULTILINE)
    known = set(flags[1].split()) if flags else set()
    affinity = getattr(os, "sched_getaffinity", None)
    return Machine(
        cpu=name[1].strip() if name else platform.processor() or "unknown",
        cores=len(affinity(0)) if affinity else os.cpu_count() or 1,
        memory_gib=round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        instruction_sets=tuple(each for each in _INSTRUCTION_SETS if each in known),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        versions=_versions(),
    )


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    for server in ("redis-server", "valkey-server"):
        if path := shutil.which(server):
            said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, timeout=10).stdout
            if number := re.search(r"v=(\S+)", said):
                found[server] = number[1]
    return found


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
