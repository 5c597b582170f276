"""Llamas and Qwen3 of random weights with the default model's tokenizer. The answers mean nothing."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from shutil import copyfile
from typing import Any, Final

import torch
from safetensors.torch import save_file

_COPIED: Final = ("tokenizer.json", "tokenizer_config.json", "generation_config.json")


def write_random_llama(
    source: Path,
    target: Path,
    changes: Mapping[str, Any],
    *,
    last_norm: float = 1.0,
    only_known_tokens: bool = False,
    device: str = "cpu",
) -> None:
    """Write a model into the folder `target`, which exists.

    source: the default model's folder, from which everything except the weights comes.
    changes: changes to its config.json, among them all sizes.
    last_norm: weight of the last norm, which is the standard deviation of a row's logits.
    only_known_tokens: whether tokens that the tokenizer lacks have a logit of 0, so that no answer contains them.
    device: where the weights are drawn. Devices draw different ones.
    """
    for name in _COPIED:
        copyfile(source / name, target / name)
    original: dict[str, Any] = json.loads((source / "config.json").read_text(encoding="utf-8"))
    config = original | dict(changes)
    (target / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    weights = _weights(config, device)
    weights["model.norm.weight"] *= last_norm
    if only_known_tokens:
        head = "model.embed_tokens.weight" if config["tie_word_embeddings"] else "lm_head.weight"
        weights[head][original["vocab_size"] :] = 0
    save_file(weights, target / "model.safetensors", metadata={"format": "pt"})


def _weights(config: Mapping[str, Any], device: str) -> dict[str, torch.Tensor]:
    """Draw weights under the names of a Llama checkpoint; the same at every call."""
    generator = torch.Generator(device).manual_seed(7)
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    q, kv = (config[f"num_{heads}_heads"] * config["head_dim"] for heads in ("attention", "key_value"))

    def matrix(rows: int, columns: int) -> torch.Tensor:
        drawn = torch.randn(rows, columns, generator=generator, device=device)
        return (drawn / math.sqrt(columns)).to(torch.bfloat16).cpu()

    ones = torch.ones(hidden, dtype=torch.bfloat16)
    weights = {"model.embed_tokens.weight": matrix(config["vocab_size"], hidden), "model.norm.weight": ones.clone()}
    if not config["tie_word_embeddings"]:
        weights["lm_head.weight"] = matrix(config["vocab_size"], hidden)
    for layer in (f"model.layers.{index}" for index in range(config["num_hidden_layers"])):
        weights[f"{layer}.input_layernorm.weight"] = ones.clone()
        weights[f"{layer}.post_attention_layernorm.weight"] = ones.clone()
        for name, rows, columns in (("q", q, hidden), ("k", kv, hidden), ("v", kv, hidden), ("o", hidden, q)):
            weights[f"{layer}.self_attn.{name}_proj.weight"] = matrix(rows, columns)
        if config["model_type"] == "qwen3":
            norm = torch.ones(config["head_dim"], dtype=torch.bfloat16)
            weights |= {f"{layer}.self_attn.{name}_norm.weight": norm.clone() for name in "qk"}
        weights |= {f"{layer}.mlp.{name}_proj.weight": matrix(inner, hidden) for name in ("gate", "up")}
        weights[f"{layer}.mlp.down_proj.weight"] = matrix(hidden, inner)
    return weights
