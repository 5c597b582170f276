"""Gemma 3's config.json, of which only the language model is read."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from models.decoder.checkpoint import IMAGE_PARTS
from models.decoder.config import DecoderConfig
from models.decoder.rope import read_rope, rope_object
from models.decoder.values import positive_size, refuse
from models.families import gemma2

_DEFAULTS: Final[Mapping[str, Any]] = {
    "vocab_size": 262_208,
    "max_position_embeddings": 131_072,
    "attn_logit_softcapping": None,
    "final_logit_softcapping": None,
}
"""Values that config.json may omit, where they differ from Gemma 2's."""


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json: norms of q and k, and separate rotary positions in layers with windows.

    Raise as the reader of Gemma 2.
    """
    raw = {**gemma2.DEFAULTS, **_DEFAULTS, **raw}
    ropes = rope_object(raw, "rope_parameters")
    # `rope_scaling` adds to the parameters of full attention.
    full = {**(ropes.get("full_attention") or {"rope_type": "default"}), **rope_object(raw, "rope_scaling")}
    whole = {**raw, "rope_theta": raw.get("rope_theta", 1e6), "rope_parameters": full, "rope_scaling": None}
    # transformers ignores a softcap of the scores.
    config = gemma2.read_config({**whole, "layer_types": _kinds(raw), "attn_logit_softcapping": None})
    local = {
        "rope_theta": raw.get("rope_local_base_freq", 1e4),
        "rope_parameters": ropes.get("sliding_attention"),
        "max_position_embeddings": raw["max_position_embeddings"],
    }
    layers = (
        replace(layer, rope=int(kind == "sliding_attention"))
        for layer, kind in zip(config.layers, _kinds(raw), strict=True)
    )
    return replace(
        config,
        layers=tuple(layers),
        ropes=(*config.ropes, read_rope(local, config.head_dim)),
        qk_norm=True,
    )


def read_text_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json of a model that also has a part for images. Raise as `read_config`."""
    refuse(raw, "quantization_config")
    tied = {"tie_word_embeddings": raw.get("tie_word_embeddings", True)}
    return replace(read_config({**tied, **(raw.get("text_config") or {})}), other_parts=IMAGE_PARTS)


def _kinds(raw: Mapping[str, Any]) -> list[str]:
    """Return the kind of each layer: those of `layer_types`, else full attention in every sixth."""
    interval = positive_size(raw, "sliding_window_pattern", default=6)
    layers = range(positive_size(raw, "num_hidden_layers"))
    every = ["sliding_attention" if (i + 1) % interval else "full_attention" for i in layers]
    return raw.get("layer_types") or every
