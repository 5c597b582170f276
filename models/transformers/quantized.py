"""Quantized checkpoints that the quantizers of transformers compute, on CUDA and with optional packages."""

import shlex
from collections.abc import Mapping
from importlib.metadata import version
from types import MappingProxyType
from typing import Any, Final

from transformers.dependency_versions_table import deps
from transformers.utils.versions import require_version

from models.errors import UnsupportedModelError
from models.weights.stored import quantization_of

PACKAGES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "awq": ("accelerate", "gptqmodel"),
        "gptq": ("accelerate", "gptqmodel", "optimum"),
        "fp8": ("accelerate", "kernels"),
    }
)
"""Packages that the quantizers need, by `quant_method`."""


def check_quantized(raw: Mapping[str, Any], device: str) -> None:
    """Raise UnsupportedModelError for a quantized folder that cannot be computed on `device`, "cpu", "cuda" or "npu".

    raw: the contents of config.json.
    """
    settings = quantization_of(raw)
    if settings is None:
        return
    method = str(settings.get("quant_method"))
    subject = f"config.json sets quantization_config with quant_method {method!r}"
    if method not in PACKAGES:
        raise UnsupportedModelError(f"{subject}, which is not supported; on CUDA {', '.join(PACKAGES)} are")
    if device != "cuda":
        raise UnsupportedModelError(
            f"{subject}, which is computed on CUDA only, not on {device}: choose an unquantized folder or a GGUF file"
        )
    if raw.get("text_config"):
        raise UnsupportedModelError(f"{subject}, and has parts other than text, which is not supported")
    if missing := missing_packages(method):
        raise UnsupportedModelError(f"{subject}, which needs more packages: run `pip install {shlex.join(missing)}`")


def missing_packages(method: str) -> list[str]:
    """Return the packages that `method` needs and this machine lacks, with the versions that transformers accepts."""
    requirements = (deps.get(name, name) for name in PACKAGES[method])
    return [requirement for requirement in requirements if not _is_met(requirement)]


def _is_met(requirement: str) -> bool:
    try:
        require_version(requirement)
    except ImportError:
        return False
    return True


def quantizer_name(raw: Mapping[str, Any]) -> str:
    """Return the method and the versions of its packages, which determine the last bits; "" if not quantized."""
    settings = quantization_of(raw)
    if settings is None:
        return ""
    method = str(settings["quant_method"])
    return "-".join((method, *(f"{name}-{version(name)}" for name in PACKAGES[method])))
