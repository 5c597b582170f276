"""Vector instruction sets that the kernels can be compiled for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import torch

from engine.errors import EngineError


@dataclass(frozen=True, slots=True)
class InstructionSet:
    """A set of vector instructions.

    flags: compiler flags that enable the instructions.
    needs: required capabilities of the CPU, by torch's names.
    """

    name: str
    flags: tuple[str, ...]
    needs: tuple[str, ...]


_AVX2: Final = ("-mavx2", "-mfma")
_AVX512: Final = (*_AVX2, "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl")
_AVX512_NEEDS: Final = ("avx2", "fma3", "avx512_f", "avx512_bw", "avx512_dq", "avx512_vl")

INSTRUCTION_SETS: Final = (
    InstructionSet(
        "avx512_bf16", (*_AVX512, "-mavx512bf16", "-mavx512vbmi"), (*_AVX512_NEEDS, "avx512_bf16", "avx512_vbmi")
    ),
    InstructionSet("avx512", _AVX512, _AVX512_NEEDS),
    InstructionSet("avx2", _AVX2, ("avx2", "fma3")),
    InstructionSet("portable", (), ()),
)
"""Instruction sets, best first. "portable" uses the 128-bit vectors of the compiler's target (SSE2, NEON)."""


def usable_instruction_sets(capabilities: Mapping[str, object] | None = None) -> tuple[InstructionSet, ...]:
    """List the instruction sets that a CPU with `capabilities` can run, best first. The list is never empty.

    capabilities: by torch's names; None for those of this CPU.
    """
    has = torch.cpu.get_capabilities() if capabilities is None else capabilities
    return tuple(chosen for chosen in INSTRUCTION_SETS if all(has.get(need) for need in chosen.needs))


def choose_instruction_set(name: str, capabilities: Mapping[str, object] | None = None) -> InstructionSet:
    """Choose an instruction set by name.

    name: "auto" for the best that the CPU can run, or the name of one of INSTRUCTION_SETS.

    Raise EngineError if the name is unknown or the CPU cannot run the instruction set.
    """
    usable = usable_instruction_sets(capabilities)
    if name == "auto":
        return usable[0]
    for chosen in usable:
        if chosen.name == name:
            return chosen
    raise EngineError(f"this CPU cannot run kernels for {name!r}; it can run {', '.join(each.name for each in usable)}")
