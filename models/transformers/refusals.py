"""Reading of config.json for transformers, and the networks that are refused by what it says."""

import copy
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, cast

import transformers
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

from models.decoder.rope import with_one_rope
from models.errors import UnsupportedModelError
from models.transformers.quantized import check_quantized
from models.transformers.transformers_parts import is_recurrent
from models.weights.folder import ModelFolder

_SPARSE: Final = "selects keys with an indexer, whose own cache is not implemented"

REFUSED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "deepseek_v32": _SPARSE,
        "deepseek_v4": _SPARSE,
        "glm_moe_dsa": _SPARSE,
        "jamba": "keeps a recurrent state, which is not implemented",
        "kimi_linear": "keeps a recurrent state, which is not implemented",
        "minimax": "has linear attention, whose state is not implemented",
    }
)
"""Reasons by `model_type`, for networks that would otherwise fail late or compute wrong tokens."""

_ATTENTION_LAYERS: Final = frozenset({"full_attention", "sliding_attention", "chunked_attention"})


def read_config(folder: ModelFolder, device: str) -> PreTrainedConfig:
    """Read config.json of a network that the transformers backend may serve on `device`, reduced to its text part.

    Raise UnsupportedModelError with the reason for any other.
    """
    raw = _with_one_rope(folder.config())
    model_type = raw.get("model_type")
    _check(raw, model_type)
    check_quantized(raw, device)
    # As in AutoConfig, which would read a file.
    kind = "ministral" if model_type == "mistral" and "layer_types" in raw else raw["model_type"]
    try:
        config = CONFIG_MAPPING[kind].from_dict(copy.deepcopy(raw) | {"model_type": kind})
    except Exception as error:  # whatever validation in transformers raises
        raise UnsupportedModelError(f"transformers cannot read config.json: {_first_line(error)}") from error
    text = config.get_text_config(decoder=True)
    if not isinstance(text, PreTrainedConfig) or type(text) not in MODEL_FOR_CAUSAL_LM_MAPPING:
        raise UnsupportedModelError(f"transformers has no causal language model for model_type {model_type!r}")
    if text.is_encoder_decoder:
        raise UnsupportedModelError(f"model_type {model_type!r} is an encoder-decoder, which is not supported")
    if not isinstance(getattr(text, "max_position_embeddings", None), int):
        raise UnsupportedModelError("config.json needs a positive whole number for max_position_embeddings")
    _check_layers(text)
    return text


def network_class(config: PreTrainedConfig) -> type[PreTrainedModel]:
    """Return the class of the causal language model for `config`."""
    return cast("type[PreTrainedModel]", MODEL_FOR_CAUSAL_LM_MAPPING[type(config)])


def _with_one_rope(raw: Mapping[str, Any]) -> dict[str, Any]:
    text = raw.get("text_config")
    return with_one_rope(raw) | ({"text_config": with_one_rope(text)} if isinstance(text, Mapping) else {})


def _check(raw: Mapping[str, Any], model_type: object) -> None:
    if not isinstance(model_type, str) or model_type not in CONFIG_MAPPING:
        name = f"model_type {model_type!r}"
        if raw.get("auto_map"):
            raise UnsupportedModelError(f"{name} needs code from the model folder, which is never executed")
        raise UnsupportedModelError(f"{name} is not known to transformers {transformers.__version__}")
    if model_type in REFUSED:
        raise UnsupportedModelError(f"model_type {model_type!r} {REFUSED[model_type]}")


def _check_layers(config: PreTrainedConfig) -> None:
    if is_recurrent(network_class(config)):
        raise UnsupportedModelError(
            f"model_type {config.model_type!r} keeps a recurrent state, which is not implemented"
        )
    kinds: Iterable[str] = getattr(config, "layer_types", None) or ()
    others = sorted(set(kinds) - _ATTENTION_LAYERS)
    if others:
        raise UnsupportedModelError(
            f"config.json has layers of type {', '.join(others)}; supported are {', '.join(sorted(_ATTENTION_LAYERS))}"
        )


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
