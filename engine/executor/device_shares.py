"""Accelerators of this machine, for processes that each see only their own."""

from collections.abc import Mapping
from glob import glob
from types import MappingProxyType
from typing import Final

from engine.device.choice import GPU_FILES, NPU_FILES

VARIABLES: Final = MappingProxyType({"cuda": "CUDA_VISIBLE_DEVICES", "npu": "ASCEND_RT_VISIBLE_DEVICES"})
"""The variable with which a driver restricts a process to some devices, by the kind of device."""

_FILES: Final = MappingProxyType({"cuda": GPU_FILES, "npu": NPU_FILES})


def visible_devices(kind: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the devices that a process may use, by the names that a variable of the driver takes.

    kind: "cpu", which has none, "cuda" or "npu".
    environment: variables of the process.
    """
    if kind not in VARIABLES:
        return ()
    named = environment.get(VARIABLES[kind])
    if named is not None:
        return tuple(each.strip() for each in named.split(",") if each.strip())
    # A driver counts the devices of a container from 0, and their files keep the machine's numbers.
    return tuple(str(number) for number in range(len(glob(_FILES[kind]))))


def variables_for(kind: str, device: str) -> dict[str, str]:
    """Return the variables of a process that sees only `device`; none if it is empty."""
    return {VARIABLES[kind]: device} if device else {}
