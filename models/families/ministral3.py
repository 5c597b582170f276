"""Ministral 3's config.json, and that of Mistral 3, of which only the language model is read."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from models.decoder.checkpoint import IMAGE_PARTS
from models.decoder.config import DecoderConfig
from models.decoder.rope import rope_object, with_one_rope
from models.decoder.values import positive, positive_size, refuse
from models.errors import UnsupportedModelError
from models.families import mistral
from models.layers.rope import QueryScaling

_DEFAULTS: Final[Mapping[str, Any]] = {
    "vocab_size": 131_072,
    "num_hidden_layers": 34,
    "head_dim": 128,
    "max_position_embeddings": 262_144,
    "rms_norm_eps": 1e-5,
    "sliding_window": None,
}
"""Values that config.json may omit, as in transformers, where they differ from Mistral's."""

_ROPE: Final[Mapping[str, Any]] = {
    "rope_type": "yarn",
    "rope_theta": 1e6,
    "factor": 16.0,
    "original_max_position_embeddings": 16_384,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "mscale": 1.0,
    "mscale_all_dim": 1.0,
    "llama_4_scaling_beta": 0.1,
}
"""Rotary positions if config.json has none."""


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json: queries are scaled by a factor that grows with the position.

    Raise as the reader of Mistral.
    """
    raw = with_one_rope({**_DEFAULTS, **raw})
    rope = rope_object(raw, "rope_parameters") or rope_object(raw, "rope_scaling") or _ROPE
    beta = positive(rope.get("llama_4_scaling_beta"), "rope scaling llama_4_scaling_beta")
    original = positive_size(rope, "original_max_position_embeddings")
    config = mistral.read_uniform({**raw, "rope_scaling": None, "rope_parameters": rope})
    return replace(config, query_scaling=QueryScaling(beta, original))


def read_text_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json of a model that also has a part for images.

    Raise as `read_config`, and if the file does not say whether the head is tied.
    """
    refuse(raw, "quantization_config")
    text = raw.get("text_config") or {}
    readers = {"mistral": mistral.read_uniform, "ministral3": read_config}
    kind = text.get("model_type", "mistral")
    if kind not in readers:
        raise UnsupportedModelError(f"model_type {kind!r} of text_config is not supported")
    tied = {each["tie_word_embeddings"] for each in (raw, text) if "tie_word_embeddings" in each}
    if len(tied) != 1:
        raise UnsupportedModelError("config.json needs one value of tie_word_embeddings, here or in text_config")
    return replace(readers[kind]({**text, "tie_word_embeddings": tied.pop()}), other_parts=IMAGE_PARTS)
