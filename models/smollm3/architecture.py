"""SmolLM3's config.json."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from models.decoder.config import DecoderConfig
from models.decoder.values import layer_windows


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json: some layers have no rotary positions, and some may have windows.

    Raises as `from_json`.
    """
    config = DecoderConfig.from_json({"rope_theta": 2e6, **raw})
    unrotated = _unrotated(raw, config.num_layers)
    window = raw.get("sliding_window") if raw.get("use_sliding_window") else None
    kinds = [
        "sliding_attention" if window is not None and i in unrotated else "full_attention"
        for i in range(config.num_layers)
    ]
    config = config.with_windows(layer_windows({**raw, "sliding_window": window}, kinds))
    bias = raw.get("attention_bias") is True
    layers = tuple(replace(layer, rope=None) if i in unrotated else layer for i, layer in enumerate(config.layers))
    return replace(config, layers=layers, qkv_bias=bias, output_bias=bias)


def _unrotated(raw: Mapping[str, Any], layers: int) -> frozenset[int]:
    """Return the layers without rotary positions: those marked 0 in `no_rope_layers`, else every fourth one."""
    marks = raw.get("no_rope_layers")
    if marks is None:
        interval = raw.get("no_rope_layer_interval", 4)
        return frozenset(range(interval - 1, layers, interval))
    return frozenset(layer for layer, mark in enumerate(marks) if not mark)
