"""Accelerators of this machine, for processes that each see only their own."""

import re
from collections.abc import Mapping
from glob import glob
from pathlib import Path
from types import MappingProxyType
from typing import Final

from engine.device_choice import GPU_FILES, NPU_FILES

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
    numbers = [int(re.sub(r"\D", "", Path(name).name)) for name in glob(_FILES[kind])]
    return tuple(str(number) for number in sorted(numbers))


def variables_for(kind: str, device: str) -> dict[str, str]:
    """Return the variables of a process that sees only `device`; none if it is empty."""
    return {VARIABLES[kind]: device} if device else {}
