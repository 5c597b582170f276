"""Installs torch for one kind of device, so that a machine without a GPU does not download gigabytes of CUDA unnoticed.

    install_torch.py VERSION cpu|cuda|npu CPU_INDEX

For cpu and npu, the script looks for the CPU build on CPU_INDEX, then on the configured package index. Finding out
takes only the wheel's metadata. Dependencies of torch always come from the configured index.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
CUDA_PACKAGES = ("nvidia-", "cuda-")
CONSTRAINTS = Path(__file__).parent.parent / "constraints.txt"


def needs_cuda(requirements: Sequence[str]) -> bool:
    """Return whether a torch wheel with these Requires-Dist lines is a CUDA build."""
    return any(line.lower().startswith(CUDA_PACKAGES) for line in requirements)


def find_wheel(version: str, index: str | None) -> tuple[str, bool] | None:
    """Find the wheel that pip would install.

    index: URL of a package index; None for the configured one.

    Return the wheel's URL and whether it is a CUDA build, or None if no wheel is available.
    """
    source = ["--index-url", index] if index else []
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [*PIP, "install", "--quiet", "--dry-run", "--ignore-installed", "--no-deps", *source]
        command += ["--retries", "0", "--timeout", "15", "--report", str(report), f"torch=={version}"]
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            return None
        found: dict[str, Any] = json.loads(report.read_text())["install"][0]
    return str(found["download_info"]["url"]), needs_cuda(found["metadata"].get("requires_dist", []))


def choose(version: str, cpu_index: str) -> str:
    """Return the pip requirement for the CPU build, or for the CUDA build with a warning if that is all there is."""
    cuda_only = False
    for index in (cpu_index, None):
        wheel = find_wheel(version, index)
        if wheel is not None and not wheel[1]:
            return f"torch @ {wheel[0]}"
        cuda_only |= wheel is not None
        if index is not None:
            print(f"    No CPU build on {index}; trying the configured package index", flush=True)
    if not cuda_only:
        sys.exit(
            f"torch {version} was not found. Check that the package index is reachable: pip download torch=={version}"
        )
    print(
        f"    WARNING: the only torch {version} available is the CUDA build: several GB, and no faster on a CPU.\n"
        "    To avoid it, press Ctrl-C and name an index with CPU builds: make serve TORCH_CPU_INDEX=URL",
        flush=True,
    )
    return f"torch=={version}"


def installed_kind() -> str | None:
    """Return the kind of the installed torch, "cuda" or "cpu", or None if torch is not installed."""
    try:
        return "cuda" if needs_cuda(requires("torch") or []) else "cpu"
    except PackageNotFoundError:
        return None


def main(version: str, device: str, cpu_index: str) -> None:
    """Install torch. A torch of another kind, from an earlier choice of device, is replaced."""
    wanted = "cuda" if device == "cuda" else "cpu"
    have = installed_kind()
    if have is not None and have != wanted:
        subprocess.run([*PIP, "uninstall", "--yes", "--quiet", "torch"], check=True)
    requirement = f"torch=={version}" if wanted == "cuda" or have == wanted else choose(version, cpu_index)
    sys.exit(subprocess.run([*PIP, "install", "--constraint", str(CONSTRAINTS), requirement], check=False).returncode)


if __name__ == "__main__":
    main(*sys.argv[1:])
