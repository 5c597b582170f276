"""Architectures of GGUF files, and what each adds to config.json.

Source of the keys: github.com/ggml-org/llama.cpp, conversion/. Keys begin with the name of the architecture.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from models.errors import ConversionError
from models.gguf_import.metadata import Metadata

Fields = dict[str, Any]

_NORMS_ON_BOTH_SIDES: Final = MappingProxyType(
    {
        "post_attention_norm": "post_attention_layernorm",
        "ffn_norm": "pre_feedforward_layernorm",
        "post_ffw_norm": "post_feedforward_layernorm",
    }
)
"""Names of Gemma's norms, of which a layer has four."""

_FUSED: Final = MappingProxyType({"attn_qkv": "self_attn.qkv_proj", "ffn_up": "mlp.gate_up_proj"})
"""Names of Phi-3's merged projections."""


def _nothing(_: Metadata, __: Fields) -> Fields:
    return {}


@dataclass(frozen=True, slots=True)
class Architecture:
    """An architecture of GGUF files.

    name, model_type: names of the architecture at the hub.
    interleaves: files hold the two halves of each head of q and k interleaved.
    fields: reads the fields of config.json that only this architecture has, given those that all have.
    layer_names: names at the hub of tensors of a layer, where they differ from Llama's.
    norm_offset: number that files add to the weights of norms.
    """

    name: str
    model_type: str
    interleaves: bool
    fields: Callable[[Metadata, Fields], Fields] = _nothing
    layer_names: Mapping[str, str] = field(default_factory=dict)
    norm_offset: float = 0.0


def _granite(metadata: Metadata, _: Fields) -> Fields:
    """Read the multipliers of Granite. The model's own defaults are 1."""
    keys = {
        "attention_multiplier": "granite.attention.scale",
        "embedding_multiplier": "granite.embedding_scale",
        "residual_multiplier": "granite.residual_scale",
        "logits_scaling": "granite.logit_scale",
    }
    return {name: metadata.decimal(key, default=1.0) for name, key in keys.items()}


def _smollm3(_: Metadata, __: Fields) -> Fields:
    """Return the layers without rotary positions, which files do not state: every fourth one."""
    return {"no_rope_layer_interval": 4, "use_sliding_window": False}


def _gemma2(metadata: Metadata, config: Fields) -> Fields:
    """Read softcaps and windows of Gemma 2, which are in every second layer."""
    caps = {
        "attn_logit_softcapping": metadata.decimal("gemma2.attn_logit_softcapping", default=50.0),
        "final_logit_softcapping": metadata.decimal("gemma2.final_logit_softcapping", default=30.0),
    }
    window = metadata.whole("gemma2.attention.sliding_window", default=4096)
    return caps | _gemma(config, layers_of_27b=46) | _windows(metadata, config, window, interval=2)


def _gemma3(metadata: Metadata, config: Fields) -> Fields:
    """Read windows of Gemma 3, which are in five of six layers, with separate rotary positions."""
    window = _window(metadata)
    cap = metadata.get("gemma3.final_logit_softcapping")
    return {
        "rope_local_base_freq": metadata.number("gemma3.rope.freq_base_swa", default=10000.0),
        "final_logit_softcapping": None if cap is None else metadata.decimal("gemma3.final_logit_softcapping"),
        **_gemma(config, layers_of_27b=62),
        **_windows(metadata, config, window, interval=6 if window else 1),
    }


def _gemma(config: Fields, *, layers_of_27b: int) -> Fields:
    # The largest model of both generations alone scales queries by another width than that of a head.
    is_27b = config["num_hidden_layers"] == layers_of_27b
    width = config["hidden_size"] // config["num_attention_heads"] if is_27b else config["head_dim"]
    activation = "gelu_pytorch_tanh"
    return {"query_pre_attn_scalar": width, "hidden_activation": activation, "hidden_act": activation}


def _window(metadata: Metadata) -> int | None:
    """Return the window of a file; None if it is missing or 0."""
    key = f"{metadata.text('general.architecture')}.attention.sliding_window"
    return metadata.whole(key) if metadata.get(key) else None


def _windows(metadata: Metadata, config: Fields, window: int | None, *, interval: int) -> Fields:
    """Return the window and the layers that have one: all but the last of each `interval` if the file names none."""
    layers = config["num_hidden_layers"]
    pattern = metadata.get(f"{metadata.text('general.architecture')}.attention.sliding_window_pattern", interval)
    if isinstance(pattern, int) and pattern > 0:
        pattern = [bool((layer + 1) % pattern) for layer in range(layers)]
    if not isinstance(pattern, list) or len(pattern) != layers:
        raise ConversionError(f"the file has {pattern!r} as its sliding_window_pattern, but {layers} layers")
    return {
        "sliding_window": window,
        "layer_types": ["sliding_attention" if has_window else "full_attention" for has_window in pattern],
    }


def _phi3(metadata: Metadata, config: Fields) -> Fields:
    """Read the window of Phi-3, which all layers have, and the rotated part of a head."""
    rotated = metadata.whole("phi3.rope.dimension_count", default=config["head_dim"])
    return {
        "sliding_window": _window(metadata),
        "partial_rotary_factor": rotated / config["head_dim"],
    }


def _mistral3(metadata: Metadata, config: Fields) -> Fields:
    """Read the growth of queries with their position. Without it, the file has a Mistral Small 3."""
    beta = metadata.decimal("mistral3.attention.temperature_scale", default=0.0)
    if not beta:
        return {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "sliding_window": None}
    if "rope_scaling" not in config:
        raise ConversionError("the file has mistral3.attention.temperature_scale, but no scaling of rotary positions")
    rope = config["rope_scaling"] | {"rope_theta": config["rope_theta"], "llama_4_scaling_beta": beta}
    return {"rope_parameters": rope, "rope_scaling": None, "sliding_window": None}


ARCHITECTURES: Final = MappingProxyType(
    {
        "llama": Architecture("LlamaForCausalLM", "llama", interleaves=True),
        "qwen2": Architecture("Qwen2ForCausalLM", "qwen2", interleaves=False),
        "qwen3": Architecture("Qwen3ForCausalLM", "qwen3", interleaves=False),
        "granite": Architecture("GraniteForCausalLM", "granite", interleaves=True, fields=_granite),
        "smollm3": Architecture("SmolLM3ForCausalLM", "smollm3", interleaves=True, fields=_smollm3),
        "mistral3": Architecture("Ministral3ForCausalLM", "ministral3", interleaves=True, fields=_mistral3),
        "phi3": Architecture("Phi3ForCausalLM", "phi3", interleaves=False, fields=_phi3, layer_names=_FUSED),
        "gemma2": Architecture("Gemma2ForCausalLM", "gemma2", False, _gemma2, _NORMS_ON_BOTH_SIDES, norm_offset=1.0),
        "gemma3": Architecture(
            "Gemma3ForCausalLM", "gemma3_text", False, _gemma3, _NORMS_ON_BOTH_SIDES, norm_offset=1.0
        ),
    }
)
"""Architectures by their names in GGUF files."""


def architecture_of(metadata: Metadata) -> Architecture:
    """Return the architecture of a file. Raise ConversionError if it is not supported."""
    name = metadata.text("general.architecture")
    found = ARCHITECTURES.get(name)
    if found is None:
        raise ConversionError(f"the file has the architecture {name!r}; supported are {', '.join(ARCHITECTURES)}")
    return found
