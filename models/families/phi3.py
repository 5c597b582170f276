"""Phi-3 and Phi-4's config.json."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from models.decoder.config import DecoderConfig
from models.decoder.rope import rope_object, with_one_rope

_DEFAULTS: Final[Mapping[str, Any]] = {
    "vocab_size": 32_064,
    "hidden_size": 3072,
    "intermediate_size": 8192,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-5,
}
"""Values that config.json may omit, as in transformers."""

_ORIGINAL: Final = {"original_max_position_embeddings": 4096}
"""Context of the training, for LongRoPE, if config.json does not have it."""

_OLD_NAMES: Final = ("su", "yarn")
"""Names that older files give to LongRoPE."""


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json: projections in one tensor, LongRoPE, partial rotation, windows in every layer.

    Raise as `from_json`.
    """
    raw = with_one_rope({**_DEFAULTS, **raw})
    for key in ("rope_parameters", "rope_scaling"):
        if rope := rope_object(raw, key):
            is_old = rope.get("rope_type", rope.get("type")) in _OLD_NAMES
            raw[key] = {**_ORIGINAL, **rope, **({"rope_type": "longrope"} if is_old else {})}
    config = DecoderConfig.from_json(raw, may_be_partial=True)
    windows = [raw.get("sliding_window") or 0] * config.num_layers
    return replace(config.with_windows(windows), fused_projections=True)
