"""Which device to compute on, decided from what lies on the machine: before torch is imported, which may fail on it."""

from glob import glob
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Final

DEVICES: Final = ("auto", "cpu", "npu", "cuda")
NPU_FILES: Final = "/dev/davinci[0-9]*"
"""One per NPU, made by its driver."""

_BLOCK_SIZES: Final = MappingProxyType({"npu": 128})


def choose_device(wanted: str) -> str:
    """`wanted`, or for "auto" the NPU of a machine that has one and torch_npu, else the CPU.

    cuda has to be asked for, until it was verified on hardware (docs/cuda.md).
    """
    if wanted != "auto":
        return wanted
    return "npu" if npu_files() and find_spec("torch_npu") is not None else "cpu"


def npu_files() -> list[Path]:
    """The NPUs of this machine as files, in order."""
    return [Path(name) for name in sorted(glob(NPU_FILES))]


def block_size_for(device: str) -> int:
    """Tokens of a KV block. The operators of an NPU take multiples of 128 only; elsewhere less is restored in vain with
    smaller ones."""
    return _BLOCK_SIZES.get(device, 64)
