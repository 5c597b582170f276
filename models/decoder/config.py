"""Validated config.json of a dense decoder. `models.registry` names the architectures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import torch

from models.decoder.rope import Rope, read_rope
from models.decoder.values import positive, positive_size, refuse
from models.errors import UnsupportedModelError
from models.interface.attention_call import AttentionCall
from models.layers.rope import QueryScaling

ACTIVATIONS: Final = {"silu": "silu", "swish": "silu", "gelu_pytorch_tanh": "gelu_tanh"}
"""Activations of the MLP's gate that the decoder computes, by their name in config.json."""


@dataclass(frozen=True, slots=True)
class LayerPlan:
    """Describe one layer where layers differ."""

    window: int = 0
    """Number of last positions that a query sees; 0 means all."""
    rope: int | None = 0
    """Index in `DecoderConfig.ropes` of the rotary positions of q and k; None if they have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderConfig:
    """Shape of a dense decoder. The fields with defaults are what some families have and Llama has not."""

    hidden_size: int
    intermediate_size: int
    layers: tuple[LayerPlan, ...]
    num_heads: int
    num_kv_heads: int
    head_dim: int
    vocab_size: int
    max_position_embeddings: int
    ropes: tuple[Rope, ...]
    rms_norm_eps: float
    tie_word_embeddings: bool
    attention_multiplier: float | None = None
    """Factor of q @ k; None means head_dim ** -0.5."""
    qkv_bias: bool = False
    output_bias: bool = False
    """Whether attention's output projection has a bias. The MLP never has one."""
    qk_norm: bool = False
    """Whether each head of q and k is normalized before it is rotated."""
    attention_softcap: float = 0.0
    """Scores s become softcap * tanh(s / softcap); 0 means unchanged."""
    activation: str = "silu"
    """Activation of the MLP's gate, a value of ACTIVATIONS."""
    adds_one_to_norms: bool = False
    """Whether the weight of a norm is 1 + the checkpoint's tensor, and the norm is rounded after it."""
    norms_changes: bool = False
    """Whether what attention and MLP add to the residual stream is normalized first."""
    fused_projections: bool = False
    """Whether the checkpoint has q, k and v in one tensor, and gate and up in one."""
    other_parts: tuple[str, ...] = ()
    """Beginnings of the names of the checkpoint's tensors that do not belong to the language model."""
    embedding_scale: float = 1.0
    """Factor of an embedding."""
    rounds_embedding_scale: bool = False
    """Whether `embedding_scale` is rounded to the weights' dtype."""
    query_scaling: QueryScaling | None = None
    """Factor of rotated queries that depends on the position; None if there is none."""
    residual_scale: float = 1.0
    """Factor of what attention and MLP add to the residual stream."""
    logits_scale: float = 1.0
    """Factor of the logits."""
    logits_softcap: float = 0.0
    """Logits l become softcap * tanh(l / softcap); 0 means unchanged."""

    @classmethod
    def from_json(
        cls, raw: Mapping[str, Any], *, may_be_partial: bool = False, default_theta: float = 10_000.0
    ) -> "DecoderConfig":
        """Read the fields of config.json that all families share. The others keep their defaults.

        raw: contents of config.json, with the family's values of missing keys.
        may_be_partial, default_theta: see `read_rope`.

        Raise UnsupportedModelError with the key for an unsupported activation, rope scaling or quantization, and for
        missing or inconsistent sizes.
        """
        refuse(raw, "mlp_bias", "quantization_config", "sandwich_norm")
        hidden, heads = positive_size(raw, "hidden_size"), positive_size(raw, "num_attention_heads")
        kv_heads = positive_size(raw, "num_key_value_heads", default=heads)
        head_dim = positive_size(raw, "head_dim", default=hidden // heads)
        if heads % kv_heads:
            raise UnsupportedModelError(f"{heads} attention heads cannot share {kv_heads} key-value heads")
        if head_dim % 2:
            raise UnsupportedModelError(f"head_dim {head_dim} is odd: rotary positions need pairs")
        return cls(
            hidden_size=hidden,
            intermediate_size=positive_size(raw, "intermediate_size"),
            layers=(LayerPlan(),) * positive_size(raw, "num_hidden_layers"),
            num_heads=heads,
            num_kv_heads=kv_heads,
            head_dim=head_dim,
            vocab_size=positive_size(raw, "vocab_size"),
            max_position_embeddings=positive_size(raw, "max_position_embeddings"),
            ropes=(read_rope(raw, head_dim, may_be_partial=may_be_partial, default_theta=default_theta),),
            rms_norm_eps=positive(raw.get("rms_norm_eps", 1e-6), "rms_norm_eps"),
            tie_word_embeddings=raw.get("tie_word_embeddings", False) is True,
            activation=_activation(raw),
        )

    @property
    def num_layers(self) -> int:
        """Number of layers."""
        return len(self.layers)

    @property
    def rope_choice(self) -> str:
        """Name of what the context window chose in the rotary tables; empty if it chooses nothing."""
        return "-".join(dict.fromkeys(filter(None, (rope.choice for rope in self.ropes))))

    @property
    def attention_scale(self) -> float:
        """Factor of q @ k."""
        return self.head_dim**-0.5 if self.attention_multiplier is None else self.attention_multiplier

    def attention_calls(self) -> tuple[AttentionCall, ...]:
        """Return the attention calls of a forward pass: one per layer."""
        call = AttentionCall(
            heads=self.num_heads,
            kv_heads=self.num_kv_heads,
            k_dim=self.head_dim,
            v_dim=self.head_dim,
            scale=self.attention_scale,
            softcap=self.attention_softcap,
        )
        return tuple(replace(call, window=layer.window) for layer in self.layers)

    def with_windows(self, windows: Sequence[int]) -> "DecoderConfig":
        """Return this configuration with one window per layer. One as long as the context hides nothing and is 0."""
        plain = [window if window < self.max_position_embeddings else 0 for window in windows]
        layers = (replace(layer, window=window) for layer, window in zip(self.layers, plain, strict=True))
        return replace(self, layers=tuple(layers))

    def fitted_to(self, window: int | None) -> "DecoderConfig":
        """Return this configuration for sequences of at most `window` tokens; None for the model's own window."""
        window = min(window or self.max_position_embeddings, self.max_position_embeddings)
        return replace(self, ropes=tuple(rope.fitted_to(window) for rope in self.ropes))

    def given_factor(self, dtype: torch.dtype) -> float:
        """Return the factor of rows that are given in place of embeddings.

        Where it is rounded, transformers has the factor in the table of embeddings, else in the network.
        """
        return 1.0 if self.rounds_embedding_scale else self.embedding_factor(dtype)

    def embedding_factor(self, dtype: torch.dtype) -> float:
        """Return the factor of an embedding for weights in `dtype`."""
        if not self.rounds_embedding_scale:
            return self.embedding_scale
        return float(torch.tensor(self.embedding_scale, dtype=dtype))


def _activation(raw: Mapping[str, Any]) -> str:
    name = raw.get("hidden_act", "silu")
    if name not in ACTIVATIONS:
        raise UnsupportedModelError(f"hidden_act {name!r} is not supported, only {' and '.join(ACTIVATIONS)}")
    return ACTIVATIONS[name]
