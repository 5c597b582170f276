"""Programs in C++ that measure the kernels: compilation with the flags of the native step, a run, and its samples."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from engine.cpu.build import COMPILERS, FLAGS, SOURCES
from engine.cpu.instruction_set import InstructionSet

LIMIT = "limit"

Samples = dict[tuple[str, str], list[tuple[float, float]]]
"""GFLOPS and GB/s of each round, by shape and name."""


def run_program(source: Path, instruction_set: InstructionSet, *, threads: int, rounds: int) -> Samples:
    """Compile and run a program, and return its samples in the order of its output.

    Raise RuntimeError if there is no compiler.
    """
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / source.stem
        _compile(source, instruction_set, program)
        output = subprocess.run([program, str(threads), str(rounds)], check=True, capture_output=True, text=True).stdout
    samples: Samples = {}
    for line in output.splitlines():
        shape, name, seconds, operations, read = line.split("\t")
        nanoseconds = float(seconds) * 1e9
        samples.setdefault((shape, name), []).append((float(operations) / nanoseconds, float(read) / nanoseconds))
    return samples


def _compile(source: Path, instruction_set: InstructionSet, target: Path) -> None:
    compiler = next((found for name in COMPILERS if (found := shutil.which(name))), None)
    if compiler is None:
        raise RuntimeError(f"there is no C++ compiler on PATH (looked for {', '.join(COMPILERS)})")
    flags = [flag for flag in FLAGS if flag != "-shared"]
    subprocess.run(
        [compiler, *flags, *instruction_set.flags, "-I", str(SOURCES), str(source), "-o", str(target)], check=True
    )
