"""openPangu-Embedded's config.json."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from models.decoder.config import DecoderConfig
from models.decoder.values import refuse

_OTHERS: Final = (
    "kv_lora_rank",
    "layer_types",
    "n_routed_experts",
    "num_nextn",
    "param_sink",
    "qk_rope_dim",
    "rotary_percent",
    "sliding_window",
)
"""Beginnings of the keys of other openPangu models, such as R and 2.0, whose networks have more parts."""


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json. Attention has a bias unless the file says otherwise.

    Raise as `from_json`, and for the keys of other openPangu models, of which some have the same architecture's name.
    """
    refuse(raw, *(key for key in raw if key.startswith(_OTHERS)))
    refuse({"is_causal": not raw.get("is_causal", True)}, "is_causal")
    bias = raw.get("bias", True) is True
    return replace(DecoderConfig.from_json(raw), qkv_bias=bias, output_bias=bias)
