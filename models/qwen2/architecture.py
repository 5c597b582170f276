"""Qwen2 and Qwen2.5's config.json."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from models.decoder.config import DecoderConfig
from models.decoder.values import refuse


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json: q, k and v have a bias.

    Raises as `from_json`, and for windows in some layers.
    """
    refuse(raw, "use_sliding_window")
    return replace(DecoderConfig.from_json(raw), qkv_bias=True)
