"""SmolLM3's config.json."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from models.decoder.config import DecoderConfig
from models.decoder.values import refuse


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json: some layers have no rotary positions.

    Raises as `from_json`, and for windows in some layers.
    """
    refuse(raw, "use_sliding_window")
    config = DecoderConfig.from_json(raw)
    bias = raw.get("attention_bias") is True
    unrotated = _unrotated(raw, config.num_layers)
    layers = tuple(replace(layer, rope=None) if i in unrotated else layer for i, layer in enumerate(config.layers))
    return replace(config, layers=layers, qkv_bias=bias, output_bias=bias)


def _unrotated(raw: Mapping[str, Any], layers: int) -> frozenset[int]:
    """Return the layers without rotary positions: those marked 0 in `no_rope_layers`, else every fourth one."""
    marks = raw.get("no_rope_layers")
    if marks is None:
        interval = raw.get("no_rope_layer_interval", 4)
        return frozenset(range(interval - 1, layers, interval))
    return frozenset(layer for layer, mark in enumerate(marks) if not mark)
