"""Check of an accelerator in a separate process, since a driver that hangs cannot be stopped in this one."""

import hashlib
import json
import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from engine.config import EngineConfig
from models.weights.fingerprint import model_fingerprint
from models.weights.folder import ModelFolder
from models.weights.stored import holds_quantized

TOLERANCE: Final = 0.25
"""Largest accepted distance of the logits (`logits_distance`)."""

LIMIT_SECONDS: Final = 600.0
"""Time for a check: weights are read, twice if the CPU computes too, and kernels are compiled."""

PACKAGES: Final = ("torch", "torch_npu", "triton", "transformers", "gptqmodel", "kernels", "ebb-chat")
"""Packages that compute."""

KILL_SECONDS: Final = 5.0
"""Time for a killed check to end. A process that hangs in a driver may never end, and is left alone."""

DRIVER_FILES: Final = (
    Path("/proc/driver/nvidia/version"),
    Path("/usr/local/Ascend/driver/version.info"),
)
"""Files that name the version of the installed driver."""

GPUS: Final = Path("/proc/driver/nvidia/gpus")
"""Folder in which the driver describes each GPU: a folder per GPU, with the file `information`."""


def device_problem(
    config: EngineConfig,
    progress: Callable[[str], None],
    *,
    command: Sequence[str] = (sys.executable, "-P", "-m", "engine.device_check"),
    limit: float = LIMIT_SECONDS,
) -> str:
    """Return why `config.device` must not serve `config.model_path`, in a sentence; empty if it passed the check.

    A passed check is remembered in `config.cache_dir`, by model, devices, driver and build. A failed one is repeated at
    the next start, because its cause may be gone. A model that several devices divide is not checked: the whole of it
    may fit none of them.

    command: the check, without its arguments. limit: seconds.
    """
    if config.parallel.num_processes > 1:
        progress(f"not checking {config.device.kind}, because several devices divide the model")
        return ""
    passed = (
        None if config.device.cache_dir is None else config.device.cache_dir / "devices" / f"{_identity(config)}.json"
    )
    if passed is not None and passed.exists():
        return ""
    # The CPU cannot load such a folder (models/transformers/quantized.py).
    is_quantized = holds_quantized(ModelFolder(config.model.path).config())
    comparison = "64 tokens there, with the cache and without" if is_quantized else "64 tokens there and on the CPU"
    progress(f"checking {config.device.kind}: {comparison} (once for this model and driver)")
    arguments = [str(config.model.path), "--device", config.device.kind, "--dtype", config.model.dtype]
    arguments += ["--attention", config.device.attention, "--block-size", str(config.cache.block_size)]
    distance = _run([*command, *arguments], limit)
    if isinstance(distance, str):
        return f"{config.device.kind} failed its check: {distance}"
    # False for NaN too.
    if not distance <= TOLERANCE:
        expected = "those without the cache" if is_quantized else "the CPU's"
        found = "are not finite" if math.isnan(distance) else f"differ from {expected} by {distance:.2f} of their norm"
        return f"{config.device.kind} failed its check: its logits {found}"
    if passed is not None:
        passed.parent.mkdir(parents=True, exist_ok=True)
        passed.write_text(json.dumps({"device": config.device.kind, "distance": distance}) + "\n", encoding="utf-8")
    return ""


def _run(command: Sequence[str], limit: float) -> float | str:
    """Return the distance that the check printed, or the reason why it printed none."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=KILL_SECONDS)
        return f"no result within {limit:g} s"
    if process.returncode != 0:
        lines = err.strip().splitlines()
        return lines[-1] if lines else f"the process ended with status {process.returncode}"
    return float(json.loads(out.splitlines()[-1])["distance"])


def _identity(config: EngineConfig) -> str:
    """Return a digest of everything that the result of a check depends on."""
    driver = "".join(path.read_text(encoding="utf-8", errors="replace") for path in DRIVER_FILES if path.exists())
    builds = [_version(name) for name in PACKAGES]
    devices = (_gpu_models(), config.device.accelerators)
    setting = (config.device.kind, config.model.dtype, config.device.attention, config.cache.block_size)
    facts = json.dumps([model_fingerprint(config.model.path), driver, devices, builds, setting])
    return hashlib.sha256(facts.encode()).hexdigest()[:32]


def _gpu_models() -> list[str]:
    """Return the models of this machine's GPUs by the driver's files, since CUDA must not be initialized here."""
    files = sorted(GPUS.glob("*/information"))
    lines = (line for file in files for line in file.read_text(encoding="utf-8", errors="replace").splitlines())
    return [line.partition(":")[2].strip() for line in lines if line.startswith("Model:")]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
