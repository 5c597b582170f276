"""`python -m bench.attention`: speed of attention in the native step, as a share of what the machine can do.

Compiles bench/attention_kernel.cpp with the kernels and runs it. The limits are dot products of registers and reading
memory, measured in the same rounds. Prints a table, and writes bench/results/attention.json and attention.md.
"""

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Final

from bench.kernel_program import LIMIT, Samples, run_program
from bench.machine import Machine, describe_machine
from bench.report import RESULTS, show_results
from bench.report_tables import table
from bench.stats import median
from engine.cpu.instruction_set import choose_instruction_set
from engine.worker.host_resources import usable_cores

PROGRAM: Final = Path(__file__).with_name("attention_kernel.cpp")


@dataclass(frozen=True, slots=True)
class Load:
    """Attention of one shape and load. gigabytes: GB/s of keys and values that were read; 0 for prompts."""

    shape: str
    name: str
    gflops: float
    gigabytes: float


@dataclass(frozen=True, slots=True)
class AttentionReport:
    """One run. Each figure is the median of the rounds.

    peak: GFLOPS of dot products of registers. memory: GB/s at which memory is read.
    """

    measured_on: str
    machine: Machine
    instruction_set: str
    threads: int
    rounds: int
    peak: float
    memory: float
    loads: tuple[Load, ...]


def to_markdown(report: AttentionReport) -> str:
    """Format the table."""
    rows = [
        (
            load.shape,
            load.name,
            f"{load.gflops:.0f}",
            f"{load.gflops / report.peak:.0%}",
            f"{load.gigabytes:.1f}" if load.gigabytes else "",
            f"{load.gigabytes / report.memory:.0%}" if load.gigabytes else "",
        )
        for load in report.loads
    ]
    heading = (
        f"# Attention of the native step\n\nMeasured on {report.measured_on}: {report.machine.cpu}, {report.threads} "
        f"threads, {report.instruction_set}. Each figure is the median of {report.rounds} rounds. The limits, measured "
        f"in the same rounds, are {report.peak:.0f} GFLOPS of dot products and {report.memory:.1f} GB/s of reading."
    )
    head = ("query and KV heads", "load", "GFLOPS", "of the peak", "GB/s", "of reading memory")
    return f"{heading}\n\n{table(head, rows)}\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write attention.json and attention.md."""
    parser = argparse.ArgumentParser(prog="python -m bench.attention", description=__doc__)
    parser.add_argument("--kernels", default="auto", help="instruction set")
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    instruction_set = choose_instruction_set(arguments.kernels)
    samples = run_program(PROGRAM, instruction_set, threads=arguments.threads, rounds=arguments.rounds)
    report = _report(samples, instruction_set.name, arguments.threads, arguments.rounds)
    show_results(arguments.out, "attention", asdict(report), to_markdown(report))
    return 0


def _report(samples: Samples, instruction_set: str, threads: int, rounds: int) -> AttentionReport:
    medians = {key: [median(column) for column in zip(*rows, strict=True)] for key, rows in samples.items()}
    peak, memory = medians.pop((LIMIT, "dot products"))[0], medians.pop((LIMIT, "reading memory"))[1]
    loads = tuple(Load(*key, *figures) for key, figures in medians.items() if key[0] != LIMIT)
    today, machine = date.today().isoformat(), describe_machine()
    return AttentionReport(today, machine, instruction_set, threads, rounds, peak, memory, loads)


if __name__ == "__main__":
    raise SystemExit(main())
