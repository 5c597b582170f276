"""Random models of the families that the shared decoder runs, written by transformers itself."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from tests.tiny_tokenizer import BYTE_VOCAB, TOKENIZER_CONFIG, byte_tokenizer

SHAPE: Final = {
    "hidden_size": 128,
    "intermediate_size": 192,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "vocab_size": BYTE_VOCAB,
    "max_position_embeddings": 1024,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 2,
}

TWO_HEADS: Final = {"num_attention_heads": 2, "num_key_value_heads": 1}
ROPE: Final = {"rope_type": "default", "rope_theta": 500.0}
WINDOWS: Final = {"layer_types": ["sliding_attention", "full_attention"] * 2, "sliding_window": 40}
GEMMA: Final = WINDOWS | {"query_pre_attn_scalar": 20}
GEMMA_ROPES: Final = {"sliding_attention": ROPE | {"rope_theta": 30.0}, "full_attention": ROPE}
WHOLE: Final = {"sliding_window": 1024}
"""A window as long as the context, which hides nothing."""
LONGROPE: Final = ROPE | {
    "rope_type": "longrope",
    "partial_rotary_factor": 0.75,
    "original_max_position_embeddings": 64,
    "short_factor": [1.0 + i / 10 for i in range(24)],
    "long_factor": [2.0 + i for i in range(24)],
}
LLAMA3: Final = ROPE | {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
YARN: Final = ROPE | {
    "rope_type": "yarn",
    "factor": 16.0,
    "original_max_position_embeddings": 64,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
}
MINISTRAL_ROPE: Final = YARN | {"llama_4_scaling_beta": 0.2, "mscale": 1.0, "mscale_all_dim": 1.0}

FAMILIES: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "llama 3": ("llama", {"rope_parameters": LLAMA3}),
    "qwen2": ("qwen2", {}),
    "qwen2, tied": ("qwen2", {"tie_word_embeddings": True}),
    "qwen3": ("qwen3", {"head_dim": 128}),
    "qwen3, biases": ("qwen3", {"attention_bias": True}),
    "qwen2, windows above": ("qwen2", {"use_sliding_window": True, "sliding_window": 40, "max_window_layers": 2}),
    "qwen3, windows": ("qwen3", WINDOWS | {"use_sliding_window": True}),
    "qwen3, yarn": ("qwen3", {"rope_parameters": YARN}),
    "ministral": ("ministral", WINDOWS),
    "ministral3": ("ministral3", {"rope_parameters": MINISTRAL_ROPE}),
    "mistral": ("mistral", {"sliding_window": None}),
    "mistral, 80 wide": ("mistral", {"head_dim": 80, "sliding_window": 40}),
    "mistral, window": ("mistral", {"sliding_window": 40}),
    "smollm3": ("smollm3", {"no_rope_layers": [1, 0, 1, 0]}),
    "smollm3, every second": ("smollm3", {"no_rope_layers": None, "no_rope_layer_interval": 2}),
    "smollm3, windows": ("smollm3", {"no_rope_layers": [1, 0, 1, 0], "use_sliding_window": True, "sliding_window": 40}),
    "gemma2": ("gemma2", GEMMA | {"final_logit_softcapping": 5.0, "attn_logit_softcapping": 4.0}),
    "gemma2, no softcaps": ("gemma2", GEMMA | {"final_logit_softcapping": None, "attn_logit_softcapping": None}),
    "gemma3": ("gemma3_text", GEMMA | {"rope_parameters": GEMMA_ROPES}),
    "gemma3, scaled": (
        "gemma3_text",
        GEMMA | {"rope_parameters": GEMMA_ROPES | {"full_attention": ROPE | {"rope_type": "linear", "factor": 8.0}}},
    ),
    "gemma3, whole": ("gemma3_text", GEMMA | WHOLE | {"rope_parameters": GEMMA_ROPES, "head_dim": 256} | TWO_HEADS),
    "gemma2, whole": ("gemma2", GEMMA | WHOLE | {"attn_logit_softcapping": None, "final_logit_softcapping": 5.0}),
    "gemma2, capped": ("gemma2", GEMMA | WHOLE | {"attn_logit_softcapping": 4.0}),
    "phi3, 96 wide": ("phi3", TWO_HEADS | {"hidden_size": 192, "head_dim": 96}),
    "phi3": ("phi3", TWO_HEADS | {"sliding_window": 40}),
    "phi3, part": (
        "phi3",
        TWO_HEADS | {"num_key_value_heads": 2, "rope_parameters": ROPE | {"partial_rotary_factor": 0.75}},
    ),
    "phi3, long": ("phi3", TWO_HEADS | {"rope_parameters": LONGROPE, "original_max_position_embeddings": 64}),
    "internlm3": ("internlm3", {}),
    "iquestcoder": ("iquestcoder", {}),
    "granite": (
        "granite",
        {
            "embedding_multiplier": 3.0,
            "attention_multiplier": 0.11,
            "residual_multiplier": 0.5,
            "logits_scaling": 2.0,
            "attention_bias": True,
        },
    ),
}
"""Type and changes of each model's configuration, by name."""

ONE_OF_EACH: Final = tuple({kind: name for name, (kind, _) in reversed(FAMILIES.items())}.values())
"""Name of the first model of each type."""


def save_family(folder: Path, name: str) -> Path:
    """Write a random float32 model with a tokenizer, and return `folder`."""
    kind, changes = FAMILIES[name]
    save_random(folder, kind, SHAPE | changes)
    byte_tokenizer().save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(TOKENIZER_CONFIG))
    return folder


def save_random(folder: Path, kind: str, config: Mapping[str, Any]) -> Path:
    """Write a random float32 model without a tokenizer. Norms and biases differ from what the initialization gives."""
    torch.manual_seed(1)
    from_config: Any = AutoModelForCausalLM.from_config
    model = from_config(AutoConfig.for_model(kind, **config), dtype=torch.float32)
    with torch.no_grad():
        for weights in model.parameters():
            if weights.dim() > 1:
                weights.normal_(0, 0.12)
            else:
                weights.add_(0.2 * torch.randn_like(weights))
    model.save_pretrained(folder)
    return folder
