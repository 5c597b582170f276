"""Granite 3's config.json."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from models.decoder.config import DecoderConfig
from models.decoder.values import positive_number

_DEFAULTS: Final[Mapping[str, Any]] = {
    "vocab_size": 32_000,
    "hidden_size": 4096,
    "intermediate_size": 11_008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "max_position_embeddings": 2048,
}
"""Values that config.json may omit, as in transformers."""


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json: embeddings, summands of the residual stream and logits are scaled.

    Raise as `from_json`.
    """
    raw = {**_DEFAULTS, **raw}
    config = DecoderConfig.from_json(raw)
    bias = raw.get("attention_bias") is True
    return replace(
        config,
        attention_multiplier=positive_number(raw, "attention_multiplier", default=1.0),
        embedding_scale=positive_number(raw, "embedding_multiplier", default=1.0),
        residual_scale=positive_number(raw, "residual_multiplier", default=1.0),
        logits_scale=1 / positive_number(raw, "logits_scaling", default=1.0),
        qkv_bias=bias,
        output_bias=bias,
    )
