"""Ministral's config.json."""

from collections.abc import Mapping
from typing import Any, Final

from models.decoder.config import DecoderConfig
from models.decoder.values import layer_windows

DEFAULTS: Final[Mapping[str, Any]] = {
    "vocab_size": 32_000,
    "hidden_size": 4096,
    "intermediate_size": 14_336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131_072,
    "sliding_window": 4096,
}
"""Values that config.json may omit, as in transformers."""


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json: windows in the layers that `layer_types` names. Raise as `from_json`."""
    raw = {**DEFAULTS, **raw}
    config = DecoderConfig.from_json(raw)
    kind = "full_attention" if raw["sliding_window"] is None else "sliding_attention"
    return config.with_windows(layer_windows(raw, [kind] * config.num_layers))
