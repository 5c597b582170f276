"""`python -m bench.attention`: speed of attention in the native step, as a share of what the machine can do.

Compiles bench/attention_kernel.cpp with the kernels and runs it. The limits are dot products of registers and reading
memory, measured in the same rounds. Prints a table.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from bench.kernel_program import LIMIT, run_program
from bench.stats import median
from engine.cpu.instruction_set import choose_instruction_set
from engine.worker.host_resources import usable_cores

PROGRAM = Path(__file__).with_name("attention_kernel.cpp")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.attention", description=__doc__)
    parser.add_argument("--kernels", default="auto", help="instruction set")
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args(argv)
    instruction_set = choose_instruction_set(arguments.kernels)
    samples = run_program(PROGRAM, instruction_set, threads=arguments.threads, rounds=arguments.rounds)
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
