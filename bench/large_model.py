"""A Llama of 1.1 B random weights with the default model's tokenizer, as large as TinyLlama.

The default model is so small that much of a step is not weights. This one measures the speed of larger models. The
answers mean nothing.
"""

import json
import math
from pathlib import Path
from typing import Any, Final

import torch
from safetensors.torch import save_file

NAME: Final = "llama-1.1b"
HIDDEN: Final = 2048
INTERMEDIATE: Final = 5632
LAYERS: Final = 22
HEADS: Final = 32
KV_HEADS: Final = 4


def large_model(source: Path, cache_dir: Path) -> Path:
    """Return the model's folder in `cache_dir`, written on the first call. `source`: the default model's folder."""
    folder = cache_dir / NAME
    if not folder.exists():
        partial = cache_dir / f"{NAME}.partial"
        partial.mkdir(parents=True, exist_ok=True)
        _write(source, partial)
        partial.rename(folder)
    return folder


def _write(source: Path, target: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        (target / name).write_bytes((source / name).read_bytes())
    config: dict[str, Any] = json.loads((source / "config.json").read_text(encoding="utf-8"))
    config |= {
        "hidden_size": HIDDEN,
        "intermediate_size": INTERMEDIATE,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HIDDEN // HEADS,
        "tie_word_embeddings": False,
    }
    (target / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    save_file(_weights(config["vocab_size"]), target / "model.safetensors", metadata={"format": "pt"})


def _weights(vocab_size: int) -> dict[str, torch.Tensor]:
    """Draw weights under the names of a Llama checkpoint; the same at every call."""
    generator = torch.Generator().manual_seed(7)

    def matrix(rows: int, columns: int) -> torch.Tensor:
        return (torch.randn(rows, columns, generator=generator) / math.sqrt(columns)).to(torch.bfloat16)

    ones = torch.ones(HIDDEN, dtype=torch.bfloat16)
    kv = KV_HEADS * HIDDEN // HEADS
    weights = {"model.embed_tokens.weight": matrix(vocab_size, HIDDEN), "lm_head.weight": matrix(vocab_size, HIDDEN)}
    weights["model.norm.weight"] = ones.clone()
    for layer in (f"model.layers.{index}" for index in range(LAYERS)):
        weights[f"{layer}.input_layernorm.weight"] = ones.clone()
        weights[f"{layer}.post_attention_layernorm.weight"] = ones.clone()
        for name, rows in (("q", HIDDEN), ("k", kv), ("v", kv), ("o", HIDDEN)):
            weights[f"{layer}.self_attn.{name}_proj.weight"] = matrix(rows, HIDDEN)
        weights |= {f"{layer}.mlp.{name}_proj.weight": matrix(INTERMEDIATE, HIDDEN) for name in ("gate", "up")}
        weights[f"{layer}.mlp.down_proj.weight"] = matrix(HIDDEN, INTERMEDIATE)
    return weights
