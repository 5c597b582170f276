"""Comparison of a model's logits on a device with those on the CPU, or with those of another way on the device."""

from pathlib import Path
from typing import Final

import torch

from cache_tiers.layout.kv_pool import KVPool
from cache_tiers.layout.layout import BlockLayout
from engine.attention.backend import AttentionMetadata, AttentionSpec, kv_shapes
from engine.attention.selector import select_backend
from engine.worker.torch.device import Device
from models.interface.causal_lm import CausalLM
from models.interface.dense_context import DenseContext
from models.layers.kinds import TORCH_LAYERS
from models.registry import load_model
from models.weights.folder import ModelFolder
from models.weights.stored import holds_quantized

TOKENS: Final = 64
PROMPT: Final = 40
"""Tokens computed in one step. Each of the others is a decode."""


def logits_distance(folder: Path, device: Device, dtype: torch.dtype, *, attention: str, block_size: int) -> float:
    """Return how far a device's logits are from the CPU's, at the worst of 64 positions.

    The CPU cannot compute a quantized folder. Logits of such a folder are compared with those of one pass over all
    tokens on the same device, in plain attention and without the cache.

    The distance is the norm of the difference, relative to the norm of the expected logits around their mean, or NaN if
    a logit is not finite. Two correct computations in bfloat16 differ by a few hundredths, and unrelated logits by more
    than 1.

    attention: the setting of that name. Errors of the model loader, the selector and the device propagate.
    """
    if holds_quantized(ModelFolder(folder).config()):
        device.prepare()
        model = load_model(folder, dtype, device.torch_device, device.layers(check=False))
        expected = _in_one_pass(model, device.torch_device)
    else:
        cpu = torch.device("cpu")
        expected = _in_one_pass(load_model(folder, dtype, cpu, TORCH_LAYERS), cpu)
        device.prepare()
        model = load_model(folder, dtype, device.torch_device, device.layers(check=False))
    found = _as_served(model, device, dtype, attention=attention, block_size=block_size)
    centred = expected - expected.mean(-1, keepdim=True)
    distances = (found - expected).norm(dim=-1) / centred.norm(dim=-1)
    return float(distances.max()) if bool(found.isfinite().all() and expected.isfinite().all()) else float("nan")


def _token_ids(vocab_size: int) -> torch.Tensor:
    return (torch.arange(TOKENS) * 31 + 7) % vocab_size


@torch.inference_mode()
def _in_one_pass(model: CausalLM, at: torch.device) -> torch.Tensor:
    """Compute all tokens at once, with keys and values in no cache."""
    ids, positions = _token_ids(model.vocab_size).to(at), torch.arange(TOKENS, device=at)
    return model.compute_logits(model.forward(ids, positions, DenseContext(model.attention))).float().cpu()


@torch.inference_mode()
def _as_served(model: CausalLM, device: Device, dtype: torch.dtype, *, attention: str, block_size: int) -> torch.Tensor:
    """Compute a prompt and then one token at a time through the paged cache, as a server does."""
    at = device.torch_device
    spec = AttentionSpec(device.name, dtype, model.attention, block_size)
    backend = select_backend(spec, attention).backend
    blocks = -(-TOKENS // block_size)
    layout = BlockLayout(kv_shapes(spec.calls), block_size, dtype.itemsize, backend.order)
    memory = (blocks * layout.elements,)
    tensor = torch.zeros(memory, dtype=dtype) if device.memory is None else device.memory.zeros(memory, dtype)
    kv = backend(spec, KVPool(tensor, layout))
    ids, positions = _token_ids(model.vocab_size).to(at), torch.arange(TOKENS, device=at)
    logits: list[torch.Tensor] = []
    table = tuple(range(blocks))
    for begin, end in [(0, PROMPT), *((position, position + 1) for position in range(PROMPT, TOKENS))]:
        metadata = AttentionMetadata((end - begin,), (end,), (table,), positions[begin:end])
        hidden = model.forward(ids[begin:end], positions[begin:end], kv.begin_step(metadata))
        logits.append(model.compute_logits(hidden))
    return torch.cat(logits).float().cpu()
