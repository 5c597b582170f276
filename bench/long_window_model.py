"""A tiny model of random weights with a window of 131,072 tokens and the default model's tokenizer.

Benchmarks and tests of long prompts use it: the default model's window is 8,192. The model has one head of 128 in one
layer, so that as little as possible of a step is arithmetic. The answers mean nothing.
"""

import json
import math
from pathlib import Path
from typing import Any, Final

import torch
from safetensors.torch import save_file

WINDOW: Final = 131_072
HEAD_DIM: Final = 128
LAYERS: Final = 1


def write_long_window_model(source: Path, target: Path) -> Path:
    """Write the folder `target`, with the tokenizer of the default model's folder `source`; returns `target`."""
    target.mkdir(parents=True)
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        (target / name).symlink_to(source / name)
    config: dict[str, Any] = json.loads((source / "config.json").read_text(encoding="utf-8"))
    config |= {
        "hidden_size": HEAD_DIM,
        "intermediate_size": 2 * HEAD_DIM,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 1,
        "num_key_value_heads": 1,
        "head_dim": HEAD_DIM,
        "max_position_embeddings": WINDOW,
        "rope_theta": 10_000_000.0,
    }
    (target / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    save_file(_weights(config["vocab_size"]), target / "model.safetensors", metadata={"format": "pt"})
    return target


def _weights(vocab_size: int) -> dict[str, torch.Tensor]:
    """Draw weights under the names of a Llama checkpoint; the same at every call."""
    generator = torch.Generator().manual_seed(7)

    def matrix(rows: int, columns: int) -> torch.Tensor:
        return (torch.randn(rows, columns, generator=generator) / math.sqrt(columns)).to(torch.bfloat16)

    ones = torch.ones(HEAD_DIM, dtype=torch.bfloat16)
    weights = {"model.embed_tokens.weight": matrix(vocab_size, HEAD_DIM), "model.norm.weight": ones.clone()}
    for layer in (f"model.layers.{index}" for index in range(LAYERS)):
        weights[f"{layer}.input_layernorm.weight"] = ones.clone()
        weights[f"{layer}.post_attention_layernorm.weight"] = ones.clone()
        weights |= {f"{layer}.self_attn.{name}_proj.weight": matrix(HEAD_DIM, HEAD_DIM) for name in "qkvo"}
        weights |= {f"{layer}.mlp.{name}_proj.weight": matrix(2 * HEAD_DIM, HEAD_DIM) for name in ("gate", "up")}
        weights[f"{layer}.mlp.down_proj.weight"] = matrix(HEAD_DIM, 2 * HEAD_DIM)
    return weights
