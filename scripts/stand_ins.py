"""Installs empty wheels in place of packages that LMCache requires and Ebb's use of it never imports.

    stand_ins.py cpu|cuda|npu

On a CPU they would take half a gigabyte. An empty wheel has the name and the version of the package, with the local
label `ebb`, so that pip finds the requirement met. For another device, earlier stand-ins are removed, and pip installs
the packages themselves. The wheels are built here and must not get onto an index, where they would shadow the packages.
"""

import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final
from zipfile import ZipFile, ZipInfo

PIP: Final = (sys.executable, "-m", "pip", "--disable-pip-version-check")
CONSTRAINTS: Final = Path(__file__).parent.parent / "constraints.txt"
LABEL: Final = "+ebb"
UNUSED: Final = (
    "awscrt",
    "cuda-python",
    "cufile-python",
    "cupy-cuda13x",
    "google-api-core",
    "google-cloud-bigtable",
    "grpcio",
    "grpcio-observability",
    "numba",
    "nvtx",
)


def pinned_versions() -> dict[str, str]:
    """Return the versions in constraints.txt by name."""
    lines = CONSTRAINTS.read_text().splitlines()
    return dict(line.split("==", 1) for line in lines if "==" in line and not line.startswith("#"))


def write_wheel(folder: Path, name: str, number: str) -> Path:
    """Write a wheel that has only metadata. The same arguments give the same bytes."""
    stem = f"{name.replace('-', '_')}-{number}"
    info = f"{stem}.dist-info"
    summary = "Stand-in: required by LMCache, and not used by Ebb"
    files = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\nSummary: {summary}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: ebb\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    wheel = folder / f"{stem}-py3-none-any.whl"
    with ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(ZipInfo(path), text)
    return wheel


def installed() -> list[str]:
    """Return the names of the stand-ins that are installed."""
    found = []
    for name in UNUSED:
        try:
            if version(name).endswith(LABEL):
                found.append(name)
        except PackageNotFoundError:
            continue
    return found


def main(device: str) -> None:
    """Install the stand-ins for a CPU, remove them for another device."""
    if device != "cpu":
        if names := installed():
            subprocess.run([*PIP, "uninstall", "--yes", "--quiet", *names], check=True)
        return
    # LMCache has no wheel for later versions, so nothing requires the packages.
    if sys.version_info >= (3, 13):
        return
    pinned = pinned_versions()
    with tempfile.TemporaryDirectory() as folder:
        wheels = [write_wheel(Path(folder), name, pinned[name] + LABEL) for name in UNUSED]
        subprocess.run([*PIP, "install", "--quiet", "--no-index", "--no-deps", *map(str, wheels)], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
