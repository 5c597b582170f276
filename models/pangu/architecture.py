"""openPangu-Embedded's config.json."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from models.decoder.config import DecoderConfig


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json. Attention has a bias unless the file says otherwise. Raises as `from_json`."""
    bias = raw.get("bias", True) is True
    return replace(DecoderConfig.from_json(raw), qkv_bias=bias, output_bias=bias)
