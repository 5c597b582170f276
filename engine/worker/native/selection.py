"""Choice between the native step and the torch model, and of the weight format, made once per start."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from engine.api.errors import EngineError
from engine.config import EngineConfig
from engine.cpu.build import COMPILERS, KernelBuild, KernelBuildError, build_kernels
from engine.cpu.format_sizes import WEIGHTS
from engine.cpu.instruction_set import InstructionSet, choose_instruction_set
from engine.cpu.library import Kernels
from engine.cpu.multiplier import Multiplier
from engine.cpu.weights import PackedModel, unsupported_reason
from engine.worker.native.step_arrays import PAGE_KEYS
from models.decoder.config import DecoderConfig
from models.decoder.model import EMBEDDING, DecoderForCausalLM
from models.interface.causal_lm import CausalLM, HasMatrices
from models.layers.linear import can_prepack
from models.weights.folder import ModelFolder
from models.weights.weights import map_tensor

LOAD_NICENESS: Final = 10
"""Priority of packing while other models answer: a tenth of a core that they want, so that the load ends."""

logger = logging.getLogger(__name__)

_ONLY_DECODER: Final = "the native step has kernels only for what the shared decoder computes"


def check_quantization(config: EngineConfig) -> None:
    """Raise EngineError for an unknown quantization, or one that no kernels here can multiply, whatever the network."""
    if config.model.quantization not in WEIGHTS:
        raise EngineError(f"quantization {config.model.quantization!r} is not one of {', '.join(WEIGHTS)}")
    if config.model.quantization != "none":
        try:
            _check_kernels(config)
        except _NotNativeError as reason:
            raise _no_quantization(config, reason) from reason


def _no_quantization(config: EngineConfig, reason: Exception) -> EngineError:
    return EngineError(f"--quantization {config.model.quantization} is not possible here: {reason}")


def pack_for_native(
    config: EngineConfig,
    model: CausalLM,
    progress: Callable[[str], None],
    *,
    threads: int,
    compilers: tuple[str, ...] = COMPILERS,
) -> PackedModel | None:
    """Pack the weights of `model` if the native step can serve it, and log the choice, its reason and its cost.

    compilers: names to look for on PATH, in order.

    Return the packed model, after which `model` is unusable. Return None if `model` itself serves: with matrices of the
    kernels in a network of transformers, else with weights packed for oneDNN, where that is possible and the settings
    allow it.

    Raise EngineError if the settings name an instruction set that this CPU does not have, an unknown quantization,
    quantized weights where only the torch model could serve, or oneDNN where it has no kernels.
    """
    check_quantization(config)
    try:
        if isinstance(model, HasMatrices):
            _pack_matrices(config, model, progress, compilers, threads)
            return None
        network, shape, build = _prepare(config, model, progress, compilers)
    except (_NotNativeError, KernelBuildError) as reason:
        if config.model.quantization != "none":
            raise _no_quantization(config, reason) from reason
        if isinstance(model, DecoderForCausalLM):
            model.unpack()
        packed = _prepack(config, model)
        if config.device.kind != "cpu":
            return None
        logger.log(
            logging.INFO if isinstance(reason, _NotWantedError) else logging.WARNING,
            "using the torch model%s, because %s. On a CPU, decoding takes %s times as long as with the native step. "
            "An answer may depend on the other requests in its batch",
            " with weights packed for oneDNN" if packed else "",
            reason,
            "2 to 4" if packed else "3 to 5",
        )
        return None
    weights = WEIGHTS[config.model.quantization]
    log_native_step(build, network, weights, threads)
    # Other models answer while this one is loaded.
    niceness = LOAD_NICENESS if config.parallel.step_turns is not None else 0
    return PackedModel(Kernels(build), shape, network, threads=threads, niceness=niceness, weights=weights)


def log_native_step(build: KernelBuild, network: DecoderForCausalLM, weights: str, threads: int) -> None:
    """Log that the native step serves. network: not packed yet. weights: format of weights that are not in blocks."""
    logger.info(
        "using the native step: %s, %s weights, %d threads, exact for every batch",
        build.instruction_set.name,
        " and ".join((*sorted({each.type_ for each in network.packed.values()}), weights)),
        threads,
    )


def pack_matrices(config: EngineConfig, model: HasMatrices, progress: Callable[[str], None], *, threads: int) -> bool:
    """Let `model` multiply with the kernels if they can serve, and return whether it does; the log has the reason.

    Raise EngineError for quantized weights where the kernels cannot serve.
    """
    try:
        _pack_matrices(config, model, progress, COMPILERS, threads)
    except (_NotNativeError, KernelBuildError) as reason:
        if config.model.quantization != "none":
            raise _no_quantization(config, reason) from reason
        wanted = isinstance(reason, _NotWantedError)
        logger.log(
            logging.INFO if wanted else logging.WARNING,
            "multiplying with torch, because %s. A vector may depend on the other texts in its batch",
            reason,
        )
        return False
    return True


def _prepack(config: EngineConfig, model: CausalLM) -> bool:
    """Pack the weights of `model` for oneDNN where possible, and return whether they are packed.

    Raise EngineError if the settings require oneDNN and it has no kernels for the model.
    """
    if config.device.cpu_kernels == "torch":
        return False
    if config.device.kind == "cpu" and isinstance(model, DecoderForCausalLM) and can_prepack(model.dtype):
        files = ModelFolder(config.model.path).weight_files()
        model.prepack(map_tensor(files, EMBEDDING, model.slots_of))
        return True
    if config.device.cpu_kernels == "onednn":
        raise EngineError(f"--cpu-kernels onednn is not possible here: oneDNN has no kernels for {config.model.dtype}")
    return False


def _pack_matrices(
    config: EngineConfig,
    model: HasMatrices,
    progress: Callable[[str], None],
    compilers: tuple[str, ...],
    threads: int,
) -> None:
    """Let `model` multiply with the kernels. Raise _NotNativeError if they cannot serve."""
    instruction_set, cache_dir = _check_kernels(config)
    build = build_kernels(instruction_set, cache_dir, progress, compilers=compilers)
    weights = WEIGHTS[config.model.quantization]
    model.pack_matrices(Multiplier(Kernels(build), threads=threads, weights=weights))
    logger.info(
        "using native matrices in a network of torch: %s, %s weights, %d threads",
        build.instruction_set.name,
        weights,
        threads,
    )


def _prepare(
    config: EngineConfig, model: CausalLM, progress: Callable[[str], None], compilers: tuple[str, ...]
) -> tuple[DecoderForCausalLM, DecoderConfig, KernelBuild]:
    if not isinstance(model, DecoderForCausalLM):
        _check(config, None)
        raise _NotNativeError(_ONLY_DECODER)
    instruction_set, cache_dir = _check(config, model.config)
    return model, model.config, build_kernels(instruction_set, cache_dir, progress, compilers=compilers)


def matrices_refusal(config: EngineConfig) -> str | None:
    """Return why a network of transformers cannot have native matrices, apart from a missing compiler; None if it can.

    Raise EngineError if the settings name an instruction set that this CPU does not have.
    """
    try:
        _check_kernels(config)
    except _NotNativeError as reason:
        return str(reason)
    return None


def native_refusal(config: EngineConfig, shape: DecoderConfig | None) -> str | None:
    """Return why the native step cannot serve a model, apart from a missing compiler; None if it can.

    shape: None for a model that the shared decoder does not compute.

    Raise EngineError if the settings name an instruction set that this CPU does not have.
    """
    try:
        _check(config, shape)
    except _NotNativeError as reason:
        return str(reason)
    return None


def _check_kernels(config: EngineConfig) -> tuple[InstructionSet, Path]:
    """Return the kernels' instruction set and the directory to keep them in.

    Raise _NotNativeError if the kernels cannot multiply, whatever the network.
    """
    if config.device.kind != "cpu":
        raise _NotWantedError(f"the native step is for CPUs, not for {config.device.kind}")
    if config.parallel.tensor_parallel_size > 1:
        raise _NotWantedError("the native step has all heads, but --tensor-parallel-size divides them")
    if config.device.cpu_kernels in ("torch", "onednn"):
        raise _NotWantedError("the torch model was chosen")
    instruction_set = choose_instruction_set(config.device.cpu_kernels)
    if config.device.cache_dir is None:
        raise _NotNativeError("there is no cache directory to keep compiled kernels in")
    if config.model.dtype != "bfloat16":
        raise _NotNativeError(f"the native step computes in bfloat16, not {config.model.dtype}")
    return instruction_set, config.device.cache_dir


def _check(config: EngineConfig, shape: DecoderConfig | None) -> tuple[InstructionSet, Path]:
    """Return what `_check_kernels` returns. `shape`: see `native_refusal`.

    Raise _NotNativeError if the native step cannot serve.
    """
    found = _check_kernels(config)
    if config.device.attention != "auto":
        raise _NotWantedError(f"{config.device.attention} attention was chosen")
    if shape is None:
        raise _NotNativeError(_ONLY_DECODER)
    if config.cache.block_size != PAGE_KEYS:
        raise _NotNativeError(f"the native step needs blocks of {PAGE_KEYS} tokens, not {config.cache.block_size}")
    reason = unsupported_reason(shape)
    if reason is not None:
        raise _NotNativeError(reason)
    return found


class _NotNativeError(Exception):
    """A reason why the native step cannot serve."""


class _NotWantedError(_NotNativeError):
    """A setting that rules out the native step. The choice is logged without a warning."""
