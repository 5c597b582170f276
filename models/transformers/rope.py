"""Rotary frequencies that transformers chooses by the longest position of a batch, fixed by the context window.

A choice per batch would make KV depend on the other sequences, and would contradict KV computed before the choice
changed. "dynamic" frequencies change only beyond max_position_embeddings, which no sequence reaches.
"""

from collections.abc import Iterator

import torch
from transformers import PreTrainedModel
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

LONGROPE = "longrope"


def pin_rope(network: PreTrainedModel, window: int) -> str:
    """Fix the "longrope" frequencies of `network` for sequences of at most `window` tokens, and name the choice.

    Return "" if there are none, else "longrope-long" or "longrope-short".
    """
    chosen = ""
    for module in network.modules():
        for prefix, layer_type, rope in _longropes(module):
            is_long = window > rope["original_max_position_embeddings"]
            chosen = f"{LONGROPE}-{'long' if is_long else 'short'}"
            _pin(module, prefix, layer_type, rope["original_max_position_embeddings"], is_long=is_long)
    return chosen


def _longropes(module: torch.nn.Module) -> Iterator[tuple[str, str | None, dict[str, int]]]:
    """Yield prefix, layer type and parameters of each "longrope" table of `module`."""
    kinds, config = getattr(module, "rope_type", None), getattr(module, "config", None)
    if kinds == LONGROPE and config is not None:
        yield "", None, config.rope_parameters
    elif isinstance(kinds, dict) and config is not None:
        for layer_type in (name for name, kind in kinds.items() if kind == LONGROPE):
            yield f"{layer_type}_", layer_type, config.rope_parameters[layer_type]


def _pin(module: torch.nn.Module, prefix: str, layer_type: str | None, original: int, *, is_long: bool) -> None:
    """Make both frequencies between which transformers chooses the same."""
    short: torch.Tensor = getattr(module, f"{prefix}original_inv_freq")
    frequencies = short.clone()
    if is_long:
        frequencies, _ = ROPE_INIT_FUNCTIONS[LONGROPE](
            module.config, short.device, seq_len=original + 1, layer_type=layer_type
        )
    setattr(module, f"{prefix}original_inv_freq", frequencies)
    setattr(module, f"{prefix}long_inv_freq", frequencies)
