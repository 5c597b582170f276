"""Mistral's config.json."""

from collections.abc import Mapping
from typing import Any

from models.decoder.config import DecoderConfig


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json. Every layer has the file's sliding window, if any. Raises as `from_json`."""
    config = DecoderConfig.from_json(raw)
    return config.with_windows([raw.get("sliding_window") or 0] * config.num_layers)
