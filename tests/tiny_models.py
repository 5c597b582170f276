"""Small random models in the folder layout of real ones, generated in milliseconds."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import torch
from safetensors.torch import save_file

from tests.tiny_tokenizer import BYTE_VOCAB, TOKENIZER_CONFIG, byte_tokenizer

PANGU: Final[Mapping[str, Any]] = MappingProxyType(
    {"architecture": "PanguEmbeddedForCausalLM", "bias": True, "vocab": 320}
)
"""Arguments of `make_tiny_model` for openPangu."""


def make_tiny_model(
    path: Path,
    *,
    architecture: str = "LlamaForCausalLM",
    layers: int = 2,
    hidden: int = 64,
    heads: int = 4,
    kv_heads: int = 2,
    vocab: int = BYTE_VOCAB,
    bias: bool = False,
    tied: bool = False,
    max_positions: int = 4096,
    head_dim: int = 0,
    seed: int = 0,
) -> Path:
    """Write a loadable model folder to `path` and return `path`. Equal arguments yield equal bytes.

    The tokenizer has three special tokens, then one token per byte. Id 2 is both end of turn and eos. With the default
    `vocab`, every id that the model can sample has a token. head_dim: 0 means hidden / heads.
    """
    head_dim = head_dim or hidden // heads
    path.mkdir(parents=True, exist_ok=True)
    config = {
        "architectures": [architecture],
        "model_type": "llama" if architecture == "LlamaForCausalLM" else "PanguEmbedded",
        "bias" if architecture == "PanguEmbeddedForCausalLM" else "attention_bias": bias,
        "hidden_act": "silu",
        "hidden_size": hidden,
        "intermediate_size": 2 * hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
        "vocab_size": vocab,
        "max_position_embeddings": max_positions,
        "rope_theta": 10000.0,
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": tied,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 2,
    }
    _write_json(path / "config.json", config)
    _write_json(path / "generation_config.json", {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2})
    _write_json(path / "tokenizer_config.json", TOKENIZER_CONFIG)
    byte_tokenizer().save(str(path / "tokenizer.json"))
    save_file(
        tiny_tensors(
            layers=layers,
            hidden=hidden,
            heads=heads,
            kv_heads=kv_heads,
            vocab=vocab,
            bias=bias,
            tied=tied,
            head_dim=head_dim,
            seed=seed,
        ),
        path / "model.safetensors",
        metadata={"format": "pt"},
    )
    return path


def tiny_tensors(
    *,
    layers: int,
    hidden: int,
    heads: int,
    kv_heads: int,
    vocab: int,
    bias: bool,
    tied: bool,
    head_dim: int,
    seed: int,
) -> dict[str, torch.Tensor]:
    """Return random float32 tensors with the names of a Llama checkpoint, scaled so that greedy tokens vary."""
    generator = torch.Generator().manual_seed(seed)

    def matrix(rows: int, columns: int) -> torch.Tensor:
        return torch.randn(rows, columns, generator=generator) / math.sqrt(columns)

    def vector(size: int, around: float) -> torch.Tensor:
        return around + 0.2 * torch.randn(size, generator=generator)

    rows = {"q": heads * head_dim, "k": kv_heads * head_dim, "v": kv_heads * head_dim, "o": hidden}
    tensors = {"model.embed_tokens.weight": torch.randn(vocab, hidden, generator=generator)}
    for layer in (f"model.layers.{index}" for index in range(layers)):
        tensors[f"{layer}.input_layernorm.weight"] = vector(hidden, 1.0)
        tensors[f"{layer}.post_attention_layernorm.weight"] = vector(hidden, 1.0)
        for name, size in rows.items():
            tensors[f"{layer}.self_attn.{name}_proj.weight"] = matrix(size, heads * head_dim if name == "o" else hidden)
            if bias:
                tensors[f"{layer}.self_attn.{name}_proj.bias"] = vector(size, 0.0)
        for name in ("gate", "up"):
            tensors[f"{layer}.mlp.{name}_proj.weight"] = matrix(2 * hidden, hidden)
        tensors[f"{layer}.mlp.down_proj.weight"] = matrix(hidden, 2 * hidden)
    tensors["model.norm.weight"] = vector(hidden, 1.0)
    if not tied:
        tensors["lm_head.weight"] = matrix(vocab, hidden)
    return tensors


def _write_json(file: Path, value: Mapping[str, object]) -> None:
    file.write_text(json.dumps(value, indent=2), encoding="utf-8")
