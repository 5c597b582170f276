"""SmolLM3's config.json."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from models.decoder.config import DecoderConfig
from models.decoder.values import layer_windows, positive_size

_DEFAULTS: Final[Mapping[str, Any]] = {
    "vocab_size": 128_256,
    "hidden_size": 2048,
    "intermediate_size": 11_008,
    "num_hidden_layers": 36,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "max_position_embeddings": 32_768,
    "tie_word_embeddings": True,
}
"""Values that config.json may omit, as in transformers."""


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json: some layers have no rotary positions, and some may have windows.

    Raise as `from_json`.
    """
    raw = {**_DEFAULTS, **raw}
    config = DecoderConfig.from_json(raw, default_theta=2e6)
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
        interval = positive_size(raw, "no_rope_layer_interval", default=4)
        return frozenset(range(interval - 1, layers, interval))
    return frozenset(layer for layer, mark in enumerate(marks) if not mark)
