"""Choice of the device from the files on the machine, before torch is imported, which may fail on it."""

from glob import glob
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Final

DEVICES: Final = ("auto", "cpu", "npu", "cuda")
NPU_FILES: Final = "/dev/davinci[0-9]*"
"""Device files, one per NPU, created by the driver."""

_BLOCK_SIZES: Final = MappingProxyType({"npu": 128})


def choose_device(wanted: str) -> str:
    """Return `wanted`. For "auto", return "npu" on a machine with an NPU and torch_npu, else "cpu".

    cuda must be requested until it has been verified on hardware (docs/cuda.md).
    """
    if wanted != "auto":
        return wanted
    return "npu" if npu_files() and find_spec("torch_npu") is not None else "cpu"


def npu_files() -> list[Path]:
    """Return the device files of this machine's NPUs, in order."""
    return [Path(name) for name in sorted(glob(NPU_FILES))]


def block_size_for(device: str) -> int:
    """Return the tokens of a KV block.

    The operators of an NPU take multiples of 128 only. On other devices, smaller blocks waste less on a restore.
    """
    return _BLOCK_SIZES.get(device, 64)
