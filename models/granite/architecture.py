"""Granite 3's config.json."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from models.decoder.config import DecoderConfig
from models.decoder.values import positive_number


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json: embeddings, summands of the residual stream and logits are scaled.

    Raises as `from_json`.
    """
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
