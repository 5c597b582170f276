"""Division of a machine's accelerators among processes, each of which sees only its own."""

import os
import re
from collections.abc import Mapping
from glob import glob
from pathlib import Path
from types import MappingProxyType
from typing import Final

from engine.device_choice import GPU_FILES, NPU_FILES
from engine.errors import EngineError

CPU: Final = "cpu"

_VARIABLES: Final = MappingProxyType({"cuda": "CUDA_VISIBLE_DEVICES", "npu": "ASCEND_RT_VISIBLE_DEVICES"})
"""The variable with which a driver restricts a process to some devices, by the kind of device."""
_FILES: Final = MappingProxyType({"cuda": GPU_FILES, "npu": NPU_FILES})


def device_shares(kind: str, count: int) -> list[str]:
    """Return the device of each of `count` processes, as its driver names it; empty names for the CPU.

    kind: "cpu", "cuda" or "npu".

    Raise EngineError if the machine has fewer devices, or this process may use fewer.
    """
    if kind == CPU:
        return [""] * count
    found = _visible(kind)
    if len(found) < count:
        raise EngineError(
            f"{count} replicas need {count} {kind} devices, one each, and this machine shows {len(found)}. "
            f"Lower --replicas, or check {_VARIABLES[kind]}."
        )
    return found[:count]


def showing_only(kind: str, device: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a process that sees only `device`; unchanged for the CPU."""
    return {**environment, **({_VARIABLES[kind]: device} if device else {})}


def _visible(kind: str) -> list[str]:
    """Return the devices that this process may use, by the names that a variable of the driver takes."""
    named = os.environ.get(_VARIABLES[kind])
    if named is not None:
        return [each.strip() for each in named.split(",") if each.strip()]
    numbers = [int(re.sub(r"\D", "", Path(name).name)) for name in glob(_FILES[kind])]
    return [str(number) for number in sorted(numbers)]
