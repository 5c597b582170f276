"""Qwen3's config.json."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from models.decoder.config import DecoderConfig
from models.decoder.values import refuse


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json: heads of q and k are normalized.

    Raises as `from_json`, and for windows in some layers.
    """
    refuse(raw, "use_sliding_window")
    bias = raw.get("attention_bias") is True
    return replace(DecoderConfig.from_json(raw), qk_norm=True, qkv_bias=bias, output_bias=bias)
