"""Whether the native step computes, or the torch model: decided here, once per start."""

import logging
from collections.abc import Callable

from engine.config import EngineConfig
from engine.cpu.build import COMPILERS, KernelBuildError, build_kernels
from engine.cpu.instruction_set import choose_instruction_set
from engine.cpu.library import Kernels
from engine.cpu.runner import PAGE_KEYS
from engine.cpu.weights import PackedModel, unsupported_reason
from models.folder import ModelFolder
from models.interface import CausalLM
from models.pangu.config import PanguConfig
from models.pangu.model import PanguForCausalLM

logger = logging.getLogger(__name__)


def pack_for_native(
    config: EngineConfig,
    model: CausalLM,
    progress: Callable[[str], None],
    *,
    threads: int,
    compilers: tuple[str, ...] = COMPILERS,
) -> PackedModel | None:
    """The model for the native step; `model` cannot be used any more. None: the torch model serves, the log says why.

    Raises EngineError if the settings name an instruction set that this CPU does not have.
    """
    if config.device != "cpu" or config.cpu_kernels == "torch":
        return None
    instruction_set = choose_instruction_set(config.cpu_kernels)
    try:
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
        build = build_kernels(instruction_set, config.cache_dir, progress, compilers=compilers)
    except (_NotNativeError, KernelBuildError) as reason_not:
        logger.warning(
            "the torch model computes, because %s; decoding takes about twice as long as with the native step, "
            "and an answer may depend on what else is in its batch",
            reason_not,
        )
        return None
    logger.info("the native step computes: %s, %d threads, exact for every batch", instruction_set.name, threads)
    return PackedModel(Kernels(build), shape, model, threads=threads)


class _NotNativeError(Exception):
    """The message says why."""
