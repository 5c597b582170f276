"""Qwen3's config.json."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from models.decoder.config import DecoderConfig
from models.families import qwen2


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json: heads of q and k are normalized, and some layers may have windows.

    Raise as `from_json`.
    """
    raw = {**qwen2.DEFAULTS, "head_dim": 128, **raw}
    bias = raw.get("attention_bias") is True
    config = DecoderConfig.from_json(raw).with_windows(qwen2.windows(raw))
    return replace(config, qk_norm=True, qkv_bias=bias, output_bias=bias)
