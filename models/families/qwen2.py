"""Qwen2 and Qwen2.5's config.json."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from models.decoder.config import DecoderConfig
from models.decoder.values import layer_windows, whole_number

DEFAULTS: Final[Mapping[str, Any]] = {
    "vocab_size": 151_936,
    "hidden_size": 4096,
    "intermediate_size": 22_016,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "max_position_embeddings": 32_768,
}
"""Values that config.json may omit, as in transformers."""


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json: q, k and v have a bias, and some layers may have windows.

    Raise as `from_json`.
    """
    raw = {**DEFAULTS, **raw}
    config = DecoderConfig.from_json(raw)
    return replace(config.with_windows(windows(raw)), qkv_bias=True)


def windows(raw: Mapping[str, Any]) -> list[int]:
    """Return the window of each layer, 0 for none. Without `layer_types`, windows begin at `max_window_layers`."""
    window = raw.get("sliding_window", 4096) if raw.get("use_sliding_window") else None
    first = raw["num_hidden_layers"] if window is None else whole_number(raw, "max_window_layers", default=28)
    kinds = ["full_attention" if i < first else "sliding_attention" for i in range(raw["num_hidden_layers"])]
    return layer_windows({**raw, "sliding_window": window}, kinds)
