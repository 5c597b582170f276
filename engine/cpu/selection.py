"""Whether the native step computes, or the torch model: decided here, once per start."""

import logging
from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from engine.config import EngineConfig
from engine.cpu.build import COMPILERS, KernelBuild, KernelBuildError, build_kernels
from engine.cpu.instruction_set import choose_instruction_set
from engine.cpu.library import Kernels
from engine.cpu.step_arrays import PAGE_KEYS
from engine.cpu.weights import PackedModel, unsupported_reason
from engine.errors import EngineError
from models.folder import ModelFolder
from models.interface import CausalLM
from models.pangu.config import PanguConfig
from models.pangu.model import PanguForCausalLM

logger = logging.getLogger(__name__)

_WEIGHTS: Final = MappingProxyType({"none": "bfloat16", "int8": "int8"})
"""Formats of packed weights by the setting `quantization`."""


def pack_for_native(
    config: EngineConfig,
    model: CausalLM,
    progress: Callable[[str], None],
    *,
    threads: int,
    compilers: tuple[str, ...] = COMPILERS,
) -> PackedModel | None:
    """The model for the native step; `model` cannot be used any more. None: the torch model serves, the log says why.

    Raises EngineError if the settings name an instruction set that this CPU does not have, an unknown quantization, or
    int8 weights where only the torch model could serve.
    """
    if config.quantization not in _WEIGHTS:
        raise EngineError(f"quantization {config.quantization!r} is not one of {', '.join(_WEIGHTS)}")
    try:
        network, shape, build = _prepare(config, model, progress, compilers)
    except (_NotNativeError, KernelBuildError) as reason:
        if config.quantization != "none":
            raise EngineError(f"--quantization {config.quantization} is not possible here: {reason}") from reason
        if not isinstance(reason, _NotWantedError):
            logger.warning(
                "the torch model computes, because %s; decoding takes about twice as long as with the native step, "
                "and an answer may depend on what else is in its batch",
                reason,
            )
        return None
    weights = _WEIGHTS[config.quantization]
    logger.info(
        "the native step computes: %s, %s weights, %d threads, exact for every batch",
        build.instruction_set.name,
        weights,
        threads,
    )
    return PackedModel(Kernels(build), shape, network, threads=threads, weights=weights)


def _prepare(
    config: EngineConfig, model: CausalLM, progress: Callable[[str], None], compilers: tuple[str, ...]
) -> tuple[PanguForCausalLM, PanguConfig, KernelBuild]:
    if config.device != "cpu":
        raise _NotWantedError(f"the native step is for CPUs, not for {config.device}")
    if config.cpu_kernels == "torch":
        raise _NotWantedError("the torch model was chosen")
    instruction_set = choose_instruction_set(config.cpu_kernels)
    if not isinstance(model, PanguForCausalLM):
        raise _NotNativeError(f"there is no native step for a {type(model).__name__}")
    if config.cache_dir is None:
        raise _NotNativeError("there is no cache directory to keep compiled kernels in")
    if config.dtype != "bfloat16":
        raise _NotNativeError(f"the native step computes in bfloat16, not {config.dtype}")
    if config.block_size != PAGE_KEYS:
        raise _NotNativeError(f"the native step needs blocks of {PAGE_KEYS} tokens, not {config.block_size}")
    shape = PanguConfig.from_json(ModelFolder(config.model_path).config())
    reason = unsupported_reason(shape)
    if reason is not None:
        raise _NotNativeError(reason)
    return model, shape, build_kernels(instruction_set, config.cache_dir, progress, compilers=compilers)


class _NotNativeError(Exception):
    """The message says why the native step cannot serve."""


class _NotWantedError(_NotNativeError):
    """Nobody expects the native step here, so nobody needs to hear why."""
