"""Phi-3 and Phi-4's config.json."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from models.decoder.config import DecoderConfig

_OLD_NAMES = ("su", "yarn")
"""Names that older files give to LongRoPE."""


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json: projections in one tensor, LongRoPE, partial rotation, windows in every layer.

    Raises as `from_json`.
    """
    raw = dict(raw)
    for key in ("rope_parameters", "rope_scaling"):
        rope = raw.get(key)
        if rope and rope.get("rope_type", rope.get("type")) in _OLD_NAMES:
            raw[key] = rope | {"rope_type": "longrope"}
    config = DecoderConfig.from_json(raw, may_be_partial=True)
    windows = [raw.get("sliding_window") or 0] * config.num_layers
    return replace(config.with_windows(windows), fused_projections=True)
