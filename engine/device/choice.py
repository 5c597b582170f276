"""Choice of the device from the files on the machine, before torch is imported, which may fail on it."""

from glob import glob
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Final

DEVICES: Final = ("auto", "cpu", "npu", "cuda")
NPU_FILES: Final = "/dev/davinci[0-9]*"
"""Device files, one per NPU, created by the driver."""
GPU_FILES: Final = "/dev/nvidia[0-9]*"
"""Device files, one per NVIDIA GPU, created by the driver."""

_BLOCK_SIZES: Final = MappingProxyType({"npu": 128})
_STEP_TOKENS: Final = MappingProxyType({"npu": 2048, "cuda": 2048})


def choose_device(wanted: str) -> str:
    """Return `wanted`. For "auto", return the accelerator that this machine has and torch is built for, else "cpu".

    The server checks an accelerator that was chosen in this way before it serves (`engine.device_check`).
    """
    if wanted != "auto":
        return wanted
    if npu_files() and find_spec("torch_npu") is not None:
        return "npu"
    return "cuda" if glob(GPU_FILES) and torch_is_built_for_cuda() else "cpu"


def npu_files() -> list[Path]:
    """Return the device files of this machine's NPUs, in order."""
    return [Path(name) for name in sorted(glob(NPU_FILES))]


def torch_is_built_for_cuda() -> bool:
    """Return whether the installed torch is a CUDA build, without importing it."""
    torch = find_spec("torch")
    if torch is None or torch.origin is None:
        return False
    built_for = Path(torch.origin).with_name("version.py").read_text(encoding="utf-8")
    return any(line.startswith("cuda") and not line.rstrip().endswith("None") for line in built_for.splitlines())


def block_size_for(device: str) -> int:
    """Return the tokens of a KV block.

    The operators of an NPU take multiples of 128 only. On other devices, smaller blocks waste less on a restore.
    """
    return _BLOCK_SIZES.get(device, 64)


def step_tokens_for(device: str) -> int:
    """Return the default for the maximum number of tokens of a step.

    A GPU computes 2,048 tokens in less time than four times 512. On a CPU, larger steps gain nothing.
    """
    return _STEP_TOKENS.get(device, 512)
