"""Tiny random networks of the transformers library, one for each `model_type`, with every rule of attention in use."""

from collections.abc import Mapping
from typing import Any, Final

import torch
from transformers import AutoModelForCausalLM, PreTrainedConfig, PreTrainedModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

LAYERS: Final = 4
WINDOW: Final = 16
VOCAB: Final = 128
POSITIONS: Final = 256

SIZES: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "projector_hidden_size", "word_embed_proj_dim"), 64),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "n_inner", "mlp_hidden_size", "intermediate_size_mlp"), 96),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "num_layers", "n_layers"), LAYERS),
    **dict.fromkeys(("num_attention_heads", "n_head", "num_heads", "n_heads"), 4),
    **dict.fromkeys(("vocab_size", "vocab_size_per_layer_input"), VOCAB),
    **dict.fromkeys(("max_position_embeddings", "n_positions"), POSITIONS),
    **dict.fromkeys(("sliding_window", "attention_chunk_size"), WINDOW),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
    **dict.fromkeys(("num_experts_per_tok", "top_k_experts", "num_key_value_heads"), 2),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size"), 32),
    **dict.fromkeys(("n_group", "topk_group", "first_k_dense_replace", "n_shared_experts"), 1),
    **dict.fromkeys(("head_dim", "qk_nope_head_dim", "v_head_dim", "kv_lora_rank"), 16),
    "qk_rope_head_dim": 8,
    "hidden_size_per_layer_input": 8,
    "q_lora_rank": 24,
    "global_head_dim": 32,
    "num_kv_shared_layers": 0,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
"""Sizes by the names that the configurations use. A configuration gets the names that it has."""

OMITTED: Final = object()

_LOCAL, _FULL = "sliding_attention", "full_attention"
_ALTERNATING: Final = [_LOCAL, _FULL] * (LAYERS // 2)
_ROPES: Final = {"rope_type": "default", "rope_theta": 10000.0}

RULES: Final[Mapping[str, Mapping[str, Any]]] = {
    "cohere2": {"layer_types": [_LOCAL, _LOCAL, _LOCAL, _FULL]},
    "axk1": {"num_key_value_heads": 4, "head_dim": OMITTED},
    "axk2": {"num_key_value_heads": 4, "head_dim": OMITTED},
    "longcat_flash": {"num_key_value_heads": 4, "head_dim": OMITTED},
    "minicpm3": {"num_key_value_heads": 4, "head_dim": OMITTED},
    "youtu": {"num_key_value_heads": 4, "head_dim": OMITTED},
    "deepseek_v2": {"num_key_value_heads": 4, "head_dim": OMITTED},
    "deepseek_v3": {"num_key_value_heads": 4, "head_dim": OMITTED},
    "gemma2": {
        "layer_types": _ALTERNATING,
        "query_pre_attn_scalar": 20,
        "attn_logit_softcapping": 5.0,
        "final_logit_softcapping": 6.0,
    },
    "gemma3_text": {"layer_types": [_LOCAL, _LOCAL, _LOCAL, _FULL], "query_pre_attn_scalar": 20},
    "gemma3n_text": {
        "layer_types": [_LOCAL, _FULL, _LOCAL, _FULL],
        "num_kv_shared_layers": 2,
        "intermediate_size": [96] * LAYERS,
        "activation_sparsity_pattern": [0.0] * LAYERS,
    },
    "gemma4_text": {
        "layer_types": [_LOCAL, _FULL, _LOCAL, _FULL],
        "num_kv_shared_layers": 2,
        "num_key_value_heads": 2,
        "head_dim": 16,
    },
    "glm4_moe_lite": {"num_key_value_heads": 4},
    "gpt_oss": {"layer_types": _ALTERNATING, "rope_parameters": _ROPES},
    "granite": {
        "embedding_multiplier": 3.0,
        "attention_multiplier": 0.11,
        "residual_multiplier": 0.5,
        "logits_scaling": 2.0,
    },
    "hunyuan_v1_dense": {"head_dim": 16, "num_key_value_heads": 2},
    "hunyuan_v1_moe": {"head_dim": 16, "num_key_value_heads": 2},
    "llama4_text": {
        "no_rope_layers": [1, 1, 1, 0],
        "interleave_moe_layer_step": 2,
        "floor_scale": WINDOW,
        "layer_types": ["chunked_attention"] * 3 + [_FULL],
    },
    "ministral": {"head_dim": 16},
    "nemotron": {"head_dim": 16, "num_key_value_heads": 2},
    "phi3": {"sliding_window": WINDOW, "original_max_position_embeddings": POSITIONS},
    "qwen2": {"use_sliding_window": True, "max_window_layers": 2},
    "qwen3": {"use_sliding_window": True, "max_window_layers": 2},
    "smollm3": {"no_rope_layers": [1, 1, 0, 1]},
}
"""Values of single architectures, which put their own rules to use. OMITTED leaves a name to its default."""

_NO_DEFAULT: Final = ("head_dim", "sliding_window", "q_lora_rank", "num_key_value_heads")
"""Names that stay unset where the architecture leaves them unset."""


def tiny_config(model_type: str, **changes: Any) -> PreTrainedConfig:
    """Make a configuration of `model_type` with LAYERS layers, small sizes, and windows of WINDOW positions.

    changes: values that replace those of SIZES and RULES.
    """
    kind = CONFIG_MAPPING[model_type]
    base = kind()
    values = {name: value for name, value in SIZES.items() if _has(base, name)}
    for name in ("layer_types", "mlp_layer_types"):
        kinds = list(dict.fromkeys(getattr(base, name, None) or ()))
        if kinds:
            values[name] = (kinds * LAYERS)[:LAYERS]
    values |= {**RULES.get(model_type, {}), **changes}
    settable = {name: value for name, value in values.items() if value is not OMITTED and not _is_computed(kind, name)}
    config: PreTrainedConfig = kind(**settable)
    return config


def tiny_network(config: PreTrainedConfig, dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    """Make a network with random weights, equal for equal arguments.

    Norms, biases and sinks are random too: left at their initial values they would hide a missing term.
    """
    torch.manual_seed(0)
    network: PreTrainedModel = AutoModelForCausalLM.from_config(config, attn_implementation="eager", dtype=dtype)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() >= 2:
                parameter.normal_(0.0, 0.12)
            else:
                parameter.add_(0.2 * torch.randn_like(parameter))
    network.eval()
    return network


def _has(base: PreTrainedConfig, name: str) -> bool:
    try:
        value = getattr(base, name)
    except (AttributeError, RuntimeError):  # RuntimeError: a value per layer, which RULES gives
        return False
    return value is not None or name not in _NO_DEFAULT


def _is_computed(kind: type[PreTrainedConfig], name: str) -> bool:
    found = getattr(kind, name, None)
    return isinstance(found, property) and found.fset is None
