"""Validated config.json of a dense decoder. `models.registry` names the architectures."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from models.attention_call import AttentionCall
from models.errors import UnsupportedModelError
from models.layers.rope import Llama3Scaling


@dataclass(frozen=True, slots=True)
class DecoderConfig:
    """Shape of a dense decoder. The fields with defaults are what some families have and Llama has not."""

    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    vocab_size: int
    max_position_embeddings: int
    rope_theta: float
    rope_scaling: Llama3Scaling | None
    rms_norm_eps: float
    tie_word_embeddings: bool
    attention_multiplier: float | None = None
    """Factor of q @ k; None means head_dim ** -0.5."""
    qkv_bias: bool = False
    output_bias: bool = False
    """Whether attention's output projection has a bias. The MLP never has one."""
    qk_norm: bool = False
    """Whether each head of q and k is normalized before it is rotated."""
    unrotated_layers: frozenset[int] = frozenset()
    """Layers whose q and k have no rotary positions."""
    window: int = 0
    """Number of last positions that a query sees, in every layer; 0 means all."""
    embedding_scale: float = 1.0
    """Factor of an embedding."""
    residual_scale: float = 1.0
    """Factor of what attention and MLP add to the residual stream."""
    logits_scale: float = 1.0
    """Factor of the logits."""

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "DecoderConfig":
        """Read the fields of config.json that all families share. The others keep their defaults.

        Raise UnsupportedModelError with the key for an unsupported activation, rope scaling or quantization, and for
        missing or inconsistent sizes.
        """
        _check_supported(raw)
        hidden, heads = _size(raw, "hidden_size"), _size(raw, "num_attention_heads")
        kv_heads = _size(raw, "num_key_value_heads", default=heads)
        head_dim = _size(raw, "head_dim", default=hidden // heads)
        if heads % kv_heads:
            raise UnsupportedModelError(f"{heads} attention heads cannot share {kv_heads} key-value heads")
        if head_dim % 2:
            raise UnsupportedModelError(f"head_dim {head_dim} is odd: rotary positions need pairs")
        theta, scaling = _rope(raw)
        return cls(
            hidden_size=hidden,
            intermediate_size=_size(raw, "intermediate_size"),
            num_layers=_size(raw, "num_hidden_layers"),
            num_heads=heads,
            num_kv_heads=kv_heads,
            head_dim=head_dim,
            vocab_size=_size(raw, "vocab_size"),
            max_position_embeddings=_size(raw, "max_position_embeddings"),
            rope_theta=theta,
            rope_scaling=scaling,
            rms_norm_eps=_positive(raw.get("rms_norm_eps", 1e-6), "rms_norm_eps"),
            tie_word_embeddings=raw.get("tie_word_embeddings", False) is True,
        )

    @property
    def attention_scale(self) -> float:
        """Factor of q @ k."""
        return self.head_dim**-0.5 if self.attention_multiplier is None else self.attention_multiplier

    def attention_calls(self) -> tuple[AttentionCall, ...]:
        """Return the attention calls of a forward pass: one per layer."""
        call = AttentionCall(
            self.num_heads, self.num_kv_heads, self.head_dim, self.head_dim, self.attention_scale, window=self.window
        )
        return (call,) * self.num_layers

    def rotates(self, layer: int) -> bool:
        """Return whether q and k of `layer` have rotary positions."""
        return layer not in self.unrotated_layers


def _check_supported(raw: Mapping[str, Any]) -> None:
    if raw.get("hidden_act", "silu") != "silu":
        raise UnsupportedModelError(f"hidden_act {raw['hidden_act']!r} is not supported, only silu")
    refuse(raw, "mlp_bias", "quantization_config", "sandwich_norm")


def _rope(raw: Mapping[str, Any]) -> tuple[float, Llama3Scaling | None]:
    # transformers 5 writes everything to rope_parameters. Older files have rope_theta alongside rope_scaling.
    rope = raw.get("rope_parameters") or raw.get("rope_scaling") or {}
    theta = _positive(rope.get("rope_theta", raw.get("rope_theta", 10000.0)), "rope_theta")
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind == "default":
        return theta, None
    if kind != "llama3":
        raise UnsupportedModelError(f"rope scaling of type {kind!r} is not supported, only llama3")
    return theta, Llama3Scaling(
        factor=_positive(rope.get("factor"), "rope scaling factor"),
        low_freq_factor=_positive(rope.get("low_freq_factor"), "rope scaling low_freq_factor"),
        high_freq_factor=_positive(rope.get("high_freq_factor"), "rope scaling high_freq_factor"),
        original_max_position=_size(rope, "original_max_position_embeddings"),
    )


def positive_number(raw: Mapping[str, Any], key: str, *, default: float) -> float:
    """Return the number `key` of config.json. Raise UnsupportedModelError if it is not positive."""
    return _positive(raw.get(key, default), key)


def refuse(raw: Mapping[str, Any], *keys: str) -> None:
    """Raise UnsupportedModelError if config.json sets any of `keys`, which the decoder would ignore."""
    for key in keys:
        if raw.get(key):
            raise UnsupportedModelError(f"config.json sets {key}, which is not supported")


def _size(raw: Mapping[str, Any], key: str, *, default: int | None = None) -> int:
    value = raw.get(key)
    if value is None:
        value = default
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UnsupportedModelError(f"config.json needs a positive whole number for {key}, but has {value!r}")
    return value


def _positive(value: object, name: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < math.inf:
        raise UnsupportedModelError(f"config.json needs a positive number for {name}, but has {value!r}")
    return float(value)
