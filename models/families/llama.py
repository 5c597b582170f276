"""Llama's config.json, and those of models that are saved as Llama."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from models.decoder.config import DecoderConfig

_DEFAULTS: Final[Mapping[str, Any]] = {
    "vocab_size": 32_000,
    "hidden_size": 4096,
    "intermediate_size": 11_008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "max_position_embeddings": 2048,
}
"""Values that config.json may omit, as in transformers."""

_OTHER_DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "internlm3": {
        "vocab_size": 128_512,
        "intermediate_size": 10_240,
        "num_hidden_layers": 48,
        "num_key_value_heads": 2,
        "head_dim": 128,
        "max_position_embeddings": 32_768,
        "rms_norm_eps": 1e-5,
    },
    "iquestcoder": {
        "vocab_size": 76_800,
        "hidden_size": 5120,
        "intermediate_size": 27_648,
        "num_hidden_layers": 80,
        "num_attention_heads": 40,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "max_position_embeddings": 131_072,
        "rms_norm_eps": 1e-5,
    },
}
"""Values of other types that are saved as Llama, where they differ from Llama's."""

_OLD_NAMES: Final = {"internlm3": {"qkv_bias": "attention_bias", "bias": "mlp_bias"}}
"""Names of keys in the config.json of a type, and Llama's names of them."""


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json. Attention has no bias unless the file says so. Raise as `from_json`."""
    kind = raw.get("model_type", "llama")
    named = {new: raw[old] for old, new in _OLD_NAMES.get(kind, {}).items() if old in raw}
    raw = {**_DEFAULTS, **_OTHER_DEFAULTS.get(kind, {}), **raw, **named}
    bias = raw.get("attention_bias") is True
    return replace(DecoderConfig.from_json(raw), qkv_bias=bias, output_bias=bias)
