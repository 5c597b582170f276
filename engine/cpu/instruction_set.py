"""Instruction sets that the kernels can be compiled for."""

import ctypes
import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from engine.api.errors import EngineError

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InstructionSet:
    """A set of instructions of a CPU.

    flags: compiler flags that enable the instructions.
    needs: required capabilities of the CPU, by torch's names.
    """

    name: str
    flags: tuple[str, ...]
    needs: tuple[str, ...]


# Every CPU with AVX2 has F16C, which torch does not name.
_AVX2: Final = ("-mavx2", "-mfma", "-mf16c")
_AVX512: Final = (*_AVX2, "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl")
_AVX512_NEEDS: Final = ("avx2", "fma3", "avx512_f", "avx512_bw", "avx512_dq", "avx512_vl")

_BF16: Final = (*_AVX512, "-mavx512bf16", "-mavx512vbmi", "-mavx512vnni")
_BF16_NEEDS: Final = (*_AVX512_NEEDS, "avx512_bf16", "avx512_vbmi", "avx512_vnni")

INSTRUCTION_SETS: Final = (
    InstructionSet(
        "amx_bf16",
        (*_BF16, "-mamx-tile", "-mamx-bf16", "-mamx-int8"),
        (*_BF16_NEEDS, "amx_tile", "amx_bf16", "amx_int8"),
    ),
    InstructionSet("avx512_bf16", _BF16, _BF16_NEEDS),
    InstructionSet("avx512", _AVX512, _AVX512_NEEDS),
    InstructionSet("avx2", _AVX2, ("avx2", "fma3")),
    InstructionSet("portable", (), ()),
)
"""Instruction sets, best first. "portable" uses the 128-bit vectors of the compiler's target (SSE2, NEON)."""


def usable_instruction_sets(capabilities: Mapping[str, object] | None = None) -> tuple[InstructionSet, ...]:
    """List the instruction sets that a CPU with `capabilities` can run, best first. The list is never empty.

    capabilities: by torch's names; None for those of this CPU.
    """
    has = _capabilities() if capabilities is None else capabilities
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


def _capabilities() -> Mapping[str, object]:
    """Return the capabilities of this CPU, without AMX tiles if Linux denies them to this process."""
    # Imported here, since a server plans the memory of models without the library.
    import torch

    capabilities = dict(torch.cpu.get_capabilities())
    if capabilities.keys() <= {"architecture"}:
        logger.warning(
            "the instructions of this CPU are unknown, since /proc/cpuinfo cannot be read: the kernels and torch use "
            "those that every CPU has, which are slower. Mount /proc"
        )
    if capabilities.get("amx_tile"):
        capabilities["amx_tile"] = _is_amx_permitted()
    return capabilities


def _is_amx_permitted() -> bool:
    """Ask Linux to let the threads of this process use AMX tiles, and return whether they may.

    Source: Documentation/arch/x86/xstate.rst of Linux.
    """
    if not sys.platform.startswith("linux"):
        return False
    syscall_number, request_permission, tile_data = 158, 0x1023, 18
    libc = ctypes.CDLL(None)
    return bool(libc.syscall(syscall_number, request_permission, tile_data) == 0)
