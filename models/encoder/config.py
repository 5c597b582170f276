"""Validated config.json of an encoder."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypedDict

from models.decoder.values import positive, positive_size
from models.errors import UnsupportedModelError
from models.weights.folder import CLASSIFIER, ModelFolder

Family = Literal["bert", "roberta", "modernbert"]

FAMILIES: Final[Mapping[str, Family]] = {
    "bert": "bert",
    "roberta": "roberta",
    "xlm-roberta": "roberta",
    "modernbert": "modernbert",
}
"""Families by the `model_type` of config.json. XLM-R is RoBERTa with another vocabulary."""

_ENDS: Final = ("Model", "ForMaskedLM", CLASSIFIER)
"""Ends of the architectures whose final hidden states are those of the network alone."""

_OLD_LOCAL: Final = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderConfig:
    """Shape of an encoder.

    first_position: index of a text's first position in the table of positions.
    num_kinds: kinds of tokens, as in `Encoder.forward`; 0 for a network without them.
    has_label: whether a head of one label is above the network.
    labels_mean: whether the head reads the mean of the hidden states, and not the first one.
    windows: for each layer, the distance up to which tokens attend to each other; 0 for the whole text.
    thetas: for each layer, the base of its rotary positions; 0 for a network with a table of positions.
    biases: whether linear layers of attention and of the MLP, norms, and the head's matrix have biases.
    """

    family: Family
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    max_position_embeddings: int
    eps: float
    first_position: int = 0
    num_kinds: int = 0
    has_label: bool = False
    labels_mean: bool = False
    windows: tuple[int, ...] = ()
    thetas: tuple[float, ...] = ()
    attention_bias: bool = True
    mlp_bias: bool = True
    norm_bias: bool = True
    head_bias: bool = True

    @property
    def head_dim(self) -> int:
        """Width of a head."""
        return self.hidden_size // self.num_heads


def is_encoder(raw: Mapping[str, Any]) -> bool:
    """Return whether config.json is that of an encoder, by its `model_type`."""
    return raw.get("model_type") in FAMILIES and not raw.get("is_decoder")


def read_encoder_config(raw: Mapping[str, Any]) -> EncoderConfig:
    """Read the contents of config.json.

    Raise UnsupportedModelError with the key for another architecture, activation or position, a head of several labels,
    and missing or inconsistent sizes.
    """
    family = FAMILIES[raw["model_type"]]
    names = raw.get("architectures") or []
    name = names[0] if isinstance(names, list) and names and isinstance(names[0], str) else f"{family}Model"
    if not name.endswith(_ENDS):
        raise UnsupportedModelError(f"config.json names the architecture {name}; encoders embed and rank texts only")
    has_label = name.endswith(CLASSIFIER)
    labels = raw.get("id2label")
    if has_label and (count := len(labels) if isinstance(labels, dict) else 2) != 1:
        raise UnsupportedModelError(f"its head has {count} labels, and a score is made of one")
    return _modern(raw, has_label) if family == "modernbert" else _bert(raw, family, has_label)


def window_of(folder: ModelFolder, config: EncoderConfig) -> int:
    """Return the tokens of the longest text: those of the folder's sentence_bert_config.json, or of the network."""
    return min(config.max_position_embeddings, folder.max_seq_length() or config.max_position_embeddings)


def _bert(raw: Mapping[str, Any], family: Family, has_label: bool) -> EncoderConfig:
    _check_activation(raw, "hidden_act", "gelu")
    if (kind := raw.get("position_embedding_type") or "absolute") != "absolute":
        raise UnsupportedModelError(f"position_embedding_type {kind!r} is not supported, only 'absolute'")
    # RoBERTa's positions begin behind that of padding.
    first = positive_size(raw, "pad_token_id", default=1) + 1 if family == "roberta" else 0
    kinds = positive_size(raw, "type_vocab_size", default=2)
    return EncoderConfig(
        family=family,
        **_sizes(raw),
        max_position_embeddings=positive_size(raw, "max_position_embeddings", default=512) - first,
        eps=positive(raw.get("layer_norm_eps", 1e-12), "layer_norm_eps"),
        first_position=first,
        num_kinds=kinds,
        has_label=has_label,
    )


def _modern(raw: Mapping[str, Any], has_label: bool) -> EncoderConfig:
    _check_activation(raw, "hidden_activation", "gelu")
    _check_activation(raw, "classifier_activation", "gelu")
    sizes = _sizes(raw)
    kinds = raw.get("layer_types") or _layer_types(raw, sizes["num_layers"])
    # A token attends to half of the window on either side.
    window = positive_size(raw, "local_attention", default=_OLD_LOCAL) // 2
    ropes: Mapping[str, Any] = raw.get("rope_parameters") or {}
    thetas = {
        "full_attention": _theta(ropes, "full_attention", raw.get("global_rope_theta", 160_000.0)),
        "sliding_attention": _theta(ropes, "sliding_attention", raw.get("local_rope_theta", 10_000.0)),
    }
    if len(kinds) != sizes["num_layers"] or not set(kinds) <= thetas.keys():
        raise UnsupportedModelError("layer_types names other layers than full_attention and sliding_attention")
    return EncoderConfig(
        family="modernbert",
        **sizes,
        max_position_embeddings=positive_size(raw, "max_position_embeddings", default=8192),
        eps=positive(raw.get("norm_eps", 1e-5), "norm_eps"),
        has_label=has_label,
        labels_mean=raw.get("classifier_pooling", "cls") == "mean",
        windows=tuple(window if kind == "sliding_attention" else 0 for kind in kinds),
        thetas=tuple(thetas[kind] for kind in kinds),
        attention_bias=raw.get("attention_bias") is True,
        mlp_bias=raw.get("mlp_bias") is True,
        norm_bias=raw.get("norm_bias") is True,
        head_bias=raw.get("classifier_bias") is True,
    )


class _Sizes(TypedDict):
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int


def _sizes(raw: Mapping[str, Any]) -> _Sizes:
    hidden, heads = positive_size(raw, "hidden_size"), positive_size(raw, "num_attention_heads")
    if hidden % heads or hidden // heads % 2:
        raise UnsupportedModelError(f"hidden_size {hidden} cannot be divided into {heads} heads of an even width")
    return {
        "vocab_size": positive_size(raw, "vocab_size"),
        "hidden_size": hidden,
        "intermediate_size": positive_size(raw, "intermediate_size"),
        "num_layers": positive_size(raw, "num_hidden_layers"),
        "num_heads": heads,
    }


def _layer_types(raw: Mapping[str, Any], count: int) -> list[str]:
    every = positive_size(raw, "global_attn_every_n_layers", default=3)
    return ["sliding_attention" if index % every else "full_attention" for index in range(count)]


def _theta(ropes: Mapping[str, Any], kind: str, default: float) -> float:
    rope: Mapping[str, Any] = ropes.get(kind) or {}
    if (name := rope.get("rope_type", "default")) != "default":
        raise UnsupportedModelError(f"rope_type {name!r} is not supported in encoders, only 'default'")
    return positive(rope.get("rope_theta", default), "rope_theta")


def _check_activation(raw: Mapping[str, Any], key: str, default: str) -> None:
    if (name := raw.get(key, default)) != default:
        raise UnsupportedModelError(f"{key} {name!r} is not supported in encoders, only {default!r}")
