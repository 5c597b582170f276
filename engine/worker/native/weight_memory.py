"""Memory of a model's weights on the device that serves, estimated before they are read."""

from dataclasses import dataclass

import torch

from engine.config import EngineConfig
from engine.cpu.format_sizes import packed_model_bytes
from engine.cpu.instruction_set import choose_instruction_set
from engine.worker.native.selection import matrices_refusal, native_refusal
from models.decoder.config import DecoderConfig
from models.weights.stored import StoredWeights


@dataclass(frozen=True, slots=True)
class WeightMemory:
    """Bytes of a model's weights.

    held: bytes from the start on. loading: the most while the weights are loaded.
    keeps_blocks: weights in blocks stay as they are in the file.
    """

    held: int
    loading: int
    keeps_blocks: bool = False


def weight_memory(stored: StoredWeights, decoder: DecoderConfig | None, config: EngineConfig) -> WeightMemory:
    """Estimate the memory of the weights `stored` under `config`, with a compiler if kernels need one.

    decoder: shape of the network; None if transformers computes it.

    Raise EngineError if the settings name an instruction set that this CPU does not have.
    """
    if stored.is_quantized:
        return WeightMemory(stored.nbytes, stored.nbytes)
    refusal = matrices_refusal(config) if decoder is None else native_refusal(config, decoder)
    if refusal is not None:
        dtype: torch.dtype = getattr(torch, config.model.dtype)
        return WeightMemory(stored.count * dtype.itemsize, stored.count * dtype.itemsize)
    instruction_set = choose_instruction_set(config.device.cpu_kernels)
    held = packed_model_bytes(stored, config.model.quantization, instruction_set, has_decoder=decoder is not None)
    # The decoder reads its plain weights before it packs them. transformers maps them from their files.
    plain = stored.plain * torch.bfloat16.itemsize if decoder is not None else 0
    return WeightMemory(held, max(held, plain), keeps_blocks=bool(stored.blocks))
