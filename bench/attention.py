"""`python -m bench.attention`: speed of attention in the native step, as a share of what the machine can do.

Compiles bench/attention_kernel.cpp with the kernels and runs it. The limits are dot products of registers and reading
memory, measured in the same rounds. Prints a table.
"""

import argparse
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.stats import median
from engine.cpu.build import COMPILERS, FLAGS, SOURCES
from engine.cpu.instruction_set import InstructionSet, choose_instruction_set
from engine.worker.host_resources import usable_cores

PROGRAM = Path(__file__).with_name("attention_kernel.cpp")
LIMIT = "limit"

Samples = dict[tuple[str, str], list[tuple[float, float]]]
"""GFLOPS and GB/s of each round, by shape and name."""


def compile_program(instruction_set: InstructionSet, target: Path) -> None:
    """Compile the program. Raise RuntimeError if there is no compiler."""
    compiler = next((found for name in COMPILERS if (found := shutil.which(name))), None)
    if compiler is None:
        raise RuntimeError(f"there is no C++ compiler on PATH (looked for {', '.join(COMPILERS)})")
    flags = [flag for flag in FLAGS if flag != "-shared"]
    subprocess.run(
        [compiler, *flags, *instruction_set.flags, "-I", str(SOURCES), str(PROGRAM), "-o", str(target)], check=True
    )


def measure(instruction_set: InstructionSet, *, threads: int, rounds: int) -> Samples:
    """Run the program and return its samples, in the order of its output."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "attention"
        compile_program(instruction_set, program)
        output = subprocess.run([program, str(threads), str(rounds)], check=True, capture_output=True, text=True).stdout
    samples: Samples = {}
    for line in output.splitlines():
        shape, name, seconds, operations, read = line.split("\t")
        nanoseconds = float(seconds) * 1e9
        samples.setdefault((shape, name), []).append((float(operations) / nanoseconds, float(read) / nanoseconds))
    return samples


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.attention", description=__doc__)
    parser.add_argument("--kernels", default="auto", help="instruction set")
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args(argv)
    instruction_set = choose_instruction_set(arguments.kernels)
    samples = measure(instruction_set, threads=arguments.threads, rounds=arguments.rounds)
    medians = {key: tuple(median(column) for column in zip(*rows, strict=True)) for key, rows in samples.items()}
    operations, read = medians[LIMIT, "dot products"][0], medians[LIMIT, "reading memory"][1]
    print(f"{instruction_set.name}, {arguments.threads} threads, medians of {arguments.rounds} rounds")
    print(f"limits: {operations:.0f} GFLOPS, {read:.1f} GB/s")
    for (shape, name), (gflops, gigabytes) in medians.items():
        if shape == LIMIT:
            continue
        line = f"{shape:18} {name:18} {gflops:6.0f} GFLOPS ({gflops / operations:4.0%})"
        print(line if gigabytes == 0 else f"{line} {gigabytes:6.1f} GB/s ({gigabytes / read:4.0%})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
