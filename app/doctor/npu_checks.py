"""Checks whether an NPU can be used. Imports no torch, since a half-installed CANN breaks that import."""

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from app.config.settings import Settings
from app.doctor.finding import Finding
from engine.device.choice import npu_files

LIBRARIES: Final = (
    *("libascendcl.so", "libhccl.so", "libacl_op_compiler.so", "libge_runner.so", "libgraph.so"),
    "libacl_tdt_channel.so",
)
"""Libraries of CANN that torch_npu is linked to."""
SET_ENV: Final = (
    Path("/usr/local/Ascend/ascend-toolkit/set_env.sh"),
    Path("/usr/local/Ascend/cann/set_env.sh"),
    Path("/usr/local/Ascend/nnrt/set_env.sh"),
)
CONTAINER_FLAGS: Final = (
    "in a container pass --device /dev/davinci0 --device /dev/davinci_manager --device /dev/devmm_svm "
    "--device /dev/hisi_hdc; on the host install the driver (npu-smi info shows it)"
)


@dataclass(frozen=True, slots=True)
class NpuMachine:
    """NPU software and device files of a machine.

    files: the driver's device files, one per NPU.
    unreadable: device files that this user may not open.
    torch: version of torch; empty if it is not installed.
    torch_npu: version of torch_npu; empty if it is not installed.
    missing: libraries of CANN that cannot be loaded.
    set_env: existing scripts that set CANN's paths.
    """

    files: Sequence[Path]
    unreadable: Sequence[Path]
    torch: str
    torch_npu: str
    missing: Sequence[str]
    set_env: Sequence[Path]

    @property
    def breaks_torch(self) -> bool:
        """Whether importing torch fails because it loads the installed extensions."""
        return bool(self.torch_npu and self.missing)


def look_for_npu() -> NpuMachine:
    """Examine this machine. CANN is only looked for if torch_npu is installed."""
    files, torch_npu = npu_files(), _version("torch_npu")
    return NpuMachine(
        files=files,
        unreadable=[file for file in files if not os.access(file, os.R_OK | os.W_OK)],
        torch=_version("torch"),
        torch_npu=torch_npu,
        missing=[name for name in LIBRARIES if not _loads(name)] if torch_npu else [],
        set_env=[file for file in SET_ENV if file.is_file()],
    )


def check_npu(settings: Settings) -> Finding:
    """Check the NPU of this machine."""
    return judge_npu(settings.device, look_for_npu())


def judge_npu(device: str, machine: NpuMachine) -> Finding:
    """Judge `machine` for the setting `device`.

    A problem is a failure only if an NPU would be used, else a warning.
    """
    wanted = device == "npu" or (device == "auto" and bool(machine.files and machine.torch_npu))
    trouble = _trouble(machine)
    if trouble is None:
        return Finding("ok", "npu", f"{len(machine.files)} found, torch_npu {machine.torch_npu}, CANN's libraries load")
    if not wanted and not machine.files and not machine.torch_npu:
        return Finding("ok", "npu", "none on this machine")
    text, advice = trouble
    return Finding("fail" if wanted else "warn", "npu", text, advice)


def _trouble(machine: NpuMachine) -> tuple[str, str] | None:
    """Return the first problem and its remedy; None if there is none."""
    if not machine.torch_npu:
        found = f"{len(machine.files)} found, but" if machine.files else "no /dev/davinci*, and"
        return f"{found} torch_npu is not installed", "run `make setup DEVICE=npu`"
    if machine.missing:
        text = f"torch_npu {machine.torch_npu} is installed, but CANN is not found: {', '.join(machine.missing)}"
        if machine.set_env:
            return text, f"run `source {machine.set_env[0]}` in the shell that starts Ebb"
        return text, "install CANN (docs/guides/ascend.md) and source its set_env.sh, or `pip uninstall torch_npu`"
    if not machine.files:
        return f"torch_npu {machine.torch_npu} and CANN are installed, but there is no /dev/davinci*", CONTAINER_FLAGS
    if machine.unreadable:
        text = f"{', '.join(map(str, machine.unreadable))} cannot be opened by this user"
        return text, "add the user to the group HwHiAiUser and log in again"
    if machine.torch.split(".")[:2] != machine.torch_npu.split(".")[:2]:
        text = f"torch_npu {machine.torch_npu} does not match torch {machine.torch}"
        return text, "install the torch_npu of the same version: `make setup DEVICE=npu`"
    return None


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
