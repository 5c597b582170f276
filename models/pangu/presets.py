"""Contents of the published config.json files of openPangu-Embedded, for planning without the weights.

If a folder has a config.json, that file takes precedence.
"""

from typing import Any

_COMMON: dict[str, Any] = {
    "architectures": ["PanguEmbeddedForCausalLM"],
    "model_type": "PanguEmbedded",
    "attention_dropout": 0.0,
    "bias": True,
    "hidden_act": "silu",
    "initializer_range": 0.02,
    "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-05,
    "vocab_size": 153376,
    "bos_token_id": 1,
    "pad_token_id": 0,
    "eos_token_id": 45892,
    "torch_dtype": "bfloat16",
    "use_cache": True,
}

OPENPANGU_EMBEDDED_1B: dict[str, Any] = _COMMON | {
    "hidden_size": 1536,
    "intermediate_size": 6144,
    "num_hidden_layers": 26,
    "num_attention_heads": 12,
    "num_key_value_heads": 6,
    "rope_theta": 4000000.0,
    "tie_word_embeddings": True,
}

OPENPANGU_EMBEDDED_7B: dict[str, Any] = _COMMON | {
    "hidden_size": 4096,
    "intermediate_size": 12800,
    "num_hidden_layers": 34,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "rope_theta": 16000000.0,
    "tie_word_embeddings": False,
}
