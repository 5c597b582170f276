"""Compilation of the kernels with the machine's own compiler, once, to a shared library in the cache directory."""

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.cpu.instruction_set import InstructionSet

COMPILERS: Final = ("c++", "g++", "clang++")
SOURCES: Final = Path(__file__).parent / "kernels"
FLAGS: Final = (
    *("-O3", "-std=c++20", "-shared", "-fPIC", "-pthread", "-mtune=native"),
    # With contraction the compiler would decide which products are fused, and so the bits of a result.
    "-ffp-contract=off",
    # Libraries for two instruction sets in one process must not resolve to each other's functions.
    "-fvisibility=hidden",
)

Progress = Callable[[str], None]


class KernelBuildError(Exception):
    """A missing compiler, or a failed compilation of the kernels. The message is one sentence for the log."""


@dataclass(frozen=True, slots=True)
class KernelBuild:
    """A compiled library.

    digest: hex digits of a hash over sources, flags and kind of CPU, and of one over the compiler's version.
    """

    path: Path
    digest: str
    instruction_set: InstructionSet


def build_kernels(
    instruction_set: InstructionSet, cache_dir: Path, progress: Progress, *, compilers: tuple[str, ...] = COMPILERS
) -> KernelBuild:
    """Compile the kernels, or reuse the library of an earlier start with the same digest.

    Without a compiler, the newest library of the same sources serves.

    compilers: names to look for on PATH, in order.

    Raise KernelBuildError.
    """
    compiler = _compiler(compilers)
    if compiler is None:
        kept = kept_kernels(instruction_set, cache_dir)
        if kept is None:
            raise KernelBuildError(f"there is no C++ compiler on PATH (looked for {', '.join(compilers)})")
        return kept
    build = _build_of(compiler, instruction_set, cache_dir)
    if not build.path.exists():
        progress(
            f"compiling the CPU kernels for {instruction_set.name} with {Path(compiler).name} (once; up to a minute)"
        )
        _compile(compiler, instruction_set, build.path)
    return build


def ready_kernels(instruction_set: InstructionSet, cache_dir: Path) -> KernelBuild | None:
    """Return the library that `build_kernels` would return without compiling; None if it would compile.

    Raise KernelBuildError.
    """
    compiler = _compiler(COMPILERS)
    if compiler is None:
        return kept_kernels(instruction_set, cache_dir)
    if kept_kernels(instruction_set, cache_dir) is None:
        return None
    build = _build_of(compiler, instruction_set, cache_dir)
    return build if build.path.exists() else None


def kept_kernels(instruction_set: InstructionSet, cache_dir: Path) -> KernelBuild | None:
    """Return the newest library of these sources for this kind of CPU, of any compiler; None if there is none."""
    found = (cache_dir / "kernels").glob(f"{instruction_set.name}-{_digest(instruction_set)}-*.so")
    newest = max(found, key=lambda path: path.stat().st_mtime, default=None)
    if newest is None:
        return None
    return KernelBuild(newest, newest.stem.removeprefix(f"{instruction_set.name}-"), instruction_set)


def _compiler(names: tuple[str, ...]) -> str | None:
    return next((found for name in names if (found := shutil.which(name))), None)


def _build_of(compiler: str, instruction_set: InstructionSet, cache_dir: Path) -> KernelBuild:
    """Return the library that `compiler` compiles, which may not exist yet."""
    version = hashlib.sha256(_run([compiler, "--version"], cache_dir).encode()).hexdigest()[:8]
    digest = f"{_digest(instruction_set)}-{version}"
    return KernelBuild(cache_dir / "kernels" / f"{instruction_set.name}-{digest}.so", digest, instruction_set)


def _digest(instruction_set: InstructionSet) -> str:
    digest = hashlib.sha256()
    for source in sorted(SOURCES.iterdir()):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    for text in (*FLAGS, *instruction_set.flags, platform.machine(), _cpu_name()):
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()[:16]


def _cpu_name() -> str:
    """Return the model name of the CPU, on which -mtune=native depends, and bits of approximate reciprocals."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line
    return platform.processor()


def _compile(compiler: str, instruction_set: InstructionSet, path: Path) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix="building-") as folder:
            unfinished = Path(folder) / path.name
            command = [compiler, *FLAGS, *instruction_set.flags, str(SOURCES / "api.cpp"), "-o", str(unfinished)]
            _run(command, unfinished.parent)
            os.replace(unfinished, path)
    except OSError as error:
        raise KernelBuildError(f"the CPU kernels cannot be stored in {path.parent}: {error}") from error


def _run(command: list[str], folder: Path) -> str:
    """Run a command, with `folder` for its temporary files: the usual one may be full."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            env={**os.environ, "TMPDIR": str(folder)},
        )
    except OSError as error:
        raise KernelBuildError(f"{command[0]} cannot be run: {error}") from error
    if done.returncode != 0:
        complaint = next((line for line in done.stderr.splitlines() if "error" in line), "no reason was given")
        raise KernelBuildError(f"{command[0]} cannot compile the CPU kernels: {complaint.strip()}")
    return done.stdout
