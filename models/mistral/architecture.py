"""Mistral's config.json."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from models.decoder.config import DecoderConfig


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json. Every layer has the file's sliding window, if any. Raises as `from_json`."""
    config = DecoderConfig.from_json(raw)
    window = raw.get("sliding_window") or 0
    # A window as long as the context hides nothing.
    return replace(config, window=window if window < config.max_position_embeddings else 0)
