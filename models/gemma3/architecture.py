"""Gemma 3's config.json, of which only the language model is read."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from models.decoder.checkpoint import IMAGE_PARTS
from models.decoder.config import DecoderConfig
from models.decoder.rope import read_rope
from models.decoder.values import refuse
from models.gemma2 import architecture as gemma2

_DEFAULTS: Mapping[str, Any] = {
    "vocab_size": 262_208,
    "hidden_size": 2304,
    "intermediate_size": 9216,
    "num_hidden_layers": 26,
    "max_position_embeddings": 131_072,
    "attn_logit_softcapping": None,
    "final_logit_softcapping": None,
}
"""Values that config.json may omit, apart from those of Gemma 2."""


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json: norms of q and k, and rotary positions of their own in layers with windows.

    Raises as the reader of Gemma 2.
    """
    raw = {**_DEFAULTS, **raw}
    ropes = raw.get("rope_parameters") or {}
    whole = {**raw, "rope_theta": raw.get("rope_theta", 1e6), "rope_parameters": ropes.get("full_attention")}
    # transformers ignores a softcap of the scores.
    config = gemma2.read_config({**whole, "layer_types": _kinds(raw), "attn_logit_softcapping": None})
    local = {"rope_theta": raw.get("rope_local_base_freq", 1e4), "rope_parameters": ropes.get("sliding_attention")}
    layers = (
        replace(layer, rope=int(kind == "sliding_attention"))
        for layer, kind in zip(config.layers, _kinds(raw), strict=True)
    )
    return replace(
        config,
        layers=tuple(layers),
        ropes=(*config.ropes, read_rope({**local, "max_position_embeddings": 1}, config.head_dim)),
        qk_norm=True,
    )


def read_text_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json of a model that also has a part for images. Raises as `read_config`."""
    refuse(raw, "quantization_config")
    tied = {"tie_word_embeddings": raw.get("tie_word_embeddings", True)}
    return replace(read_config({**tied, **(raw.get("text_config") or {})}), other_parts=IMAGE_PARTS)


def _kinds(raw: Mapping[str, Any]) -> list[str]:
    """Return the kind of each layer: those of `layer_types`, else full attention in every sixth."""
    interval = raw.get("sliding_window_pattern", 6)
    every = ["sliding_attention" if (i + 1) % interval else "full_attention" for i in range(raw["num_hidden_layers"])]
    return raw.get("layer_types") or every
