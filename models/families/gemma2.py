"""Gemma 2's config.json."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from models.decoder.config import DecoderConfig
from models.decoder.values import layer_windows, positive_number, refuse, softcap

DEFAULTS: Final[Mapping[str, Any]] = {
    "vocab_size": 256_000,
    "hidden_size": 2304,
    "intermediate_size": 9216,
    "num_hidden_layers": 26,
    "max_position_embeddings": 8192,
    "hidden_activation": "gelu_pytorch_tanh",
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "tie_word_embeddings": True,
}
"""Values that config.json may omit, as in transformers."""


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json: windows in every second layer, norms on both sides, softcaps.

    Raise as `from_json`, and for attention to later positions.
    """
    refuse(raw, "use_bidirectional_attention")
    raw = {**DEFAULTS, **raw}
    config = DecoderConfig.from_json(raw | {"hidden_act": raw["hidden_activation"] or "gelu_pytorch_tanh"})
    kinds = ["full_attention" if i % 2 else "sliding_attention" for i in range(config.num_layers)]
    bias = raw.get("attention_bias") is True
    return replace(
        config.with_windows(layer_windows(raw, kinds, default=4096)),
        attention_multiplier=positive_number(raw, "query_pre_attn_scalar", default=256) ** -0.5,
        attention_softcap=softcap(raw, "attn_logit_softcapping", default=50.0),
        logits_softcap=softcap(raw, "final_logit_softcapping", default=30.0),
        embedding_scale=config.hidden_size**0.5,
        rounds_embedding_scale=True,
        adds_one_to_norms=True,
        norms_changes=True,
        qkv_bias=bias,
        output_bias=bias,
    )
