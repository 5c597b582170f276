"""Ministral's config.json."""

from collections.abc import Mapping
from typing import Any

from models.decoder.config import DecoderConfig
from models.decoder.values import layer_windows


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json: windows in the layers that `layer_types` names. Raises as `from_json`."""
    config = DecoderConfig.from_json(raw)
    raw = {"sliding_window": 4096, **raw}
    kind = "full_attention" if raw["sliding_window"] is None else "sliding_attention"
    return config.with_windows(layer_windows(raw, [kind] * config.num_layers))
