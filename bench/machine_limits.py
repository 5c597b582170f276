"""Limits of a machine that no computation of a model can exceed."""

from dataclasses import dataclass
from pathlib import Path

from bench.kernel_program import LIMIT, run_program
from engine.cpu.instruction_set import InstructionSet

PROGRAM = Path(__file__).with_suffix(".cpp")


@dataclass(frozen=True, slots=True)
class MachineLimits:
    """Best of a few measurements.

    gflops: floating point operations of the instruction for dot products, in billions a second.
    byte_gops: operations of the products of bytes, in billions a second. None where no kernel multiplies bytes.
    gigabytes: gigabytes read from memory a second.
    """

    gflops: float
    byte_gops: float | None
    gigabytes: float


def measure_limits(instruction_set: InstructionSet, *, threads: int, rounds: int = 5) -> MachineLimits:
    """Measure the limits. Raise RuntimeError if there is no compiler."""
    samples = run_program(PROGRAM, instruction_set, threads=threads, rounds=rounds)
    return MachineLimits(
        max(gflops for gflops, _ in samples[LIMIT, "dot products"]),
        max((gops for gops, _ in samples.get((LIMIT, "products of bytes"), ())), default=None),
        max(gigabytes for _, gigabytes in samples[LIMIT, "reading memory"]),
    )
