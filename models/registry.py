"""Table from architecture names to model code.

The shared decoder computes the architectures that it knows. The transformers library computes every other one, and
configurations that the shared decoder refuses.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import torch

from models.decoder.config import DecoderConfig
from models.decoder.model import DecoderForCausalLM
from models.decoder.stages import stage_layers
from models.decoder.tensor_parallel import rank_config
from models.encoder.config import is_encoder, read_encoder_config, window_of
from models.errors import ModelError, UnsupportedModelError
from models.families import gemma2, gemma3, granite, llama, ministral, ministral3, mistral, phi3, qwen2, qwen3, smollm3
from models.interface.attention_call import AttentionCall
from models.interface.causal_lm import CausalLM
from models.interface.parallel import SINGLE_RANK, RankGroup
from models.interface.partition import Stage
from models.layers.kinds import TORCH_LAYERS, LayerKinds
from models.pangu import architecture as pangu
from models.weights.folder import CLASSIFIER, ModelFolder
from models.weights.weights import load_weights

ARCHITECTURES: Final[Mapping[str, Callable[[Mapping[str, Any]], DecoderConfig]]] = {
    "Gemma2ForCausalLM": gemma2.read_config,
    "Gemma3ForCausalLM": gemma3.read_config,
    "Gemma3ForConditionalGeneration": gemma3.read_text_config,
    "GraniteForCausalLM": granite.read_config,
    "LlamaForCausalLM": llama.read_config,
    "Ministral3ForCausalLM": ministral3.read_config,
    "MinistralForCausalLM": ministral.read_config,
    "Mistral3ForConditionalGeneration": ministral3.read_text_config,
    "MistralForCausalLM": mistral.read_config,
    "PanguEmbeddedForCausalLM": pangu.read_config,
    "Phi3ForCausalLM": phi3.read_config,
    "Qwen2ForCausalLM": qwen2.read_config,
    "Qwen3ForCausalLM": qwen3.read_config,
    "SmolLM3ForCausalLM": smollm3.read_config,
}
"""Readers of config.json, by the first of its `architectures`. The shared decoder runs all of them."""

_TYPES: Final[Mapping[str, str]] = {
    "gemma2": "Gemma2ForCausalLM",
    "gemma3": "Gemma3ForConditionalGeneration",
    "gemma3_text": "Gemma3ForCausalLM",
    "granite": "GraniteForCausalLM",
    "internlm3": "LlamaForCausalLM",
    "iquestcoder": "LlamaForCausalLM",
    "llama": "LlamaForCausalLM",
    "ministral": "MinistralForCausalLM",
    "ministral3": "Ministral3ForCausalLM",
    "mistral": "MistralForCausalLM",
    "mistral3": "Mistral3ForConditionalGeneration",
    "phi3": "Phi3ForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "smollm3": "SmolLM3ForCausalLM",
}
"""Architectures by the `model_type` of config.json, which is what decides in transformers."""


ENCODER: Final = "encoder"
"""`NetworkSummary.code` of encoders, which `models.encoder` computes."""

CLASSIFIER_HEAD: Final = "score.weight"
"""Name of the head of labels above a decoder, [labels, hidden]."""


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json.

    Raise UnsupportedModelError for an unknown architecture, for one that is not that of `model_type`, and as
    `DecoderConfig.from_json`.
    """
    names = raw.get("architectures") or []
    name = names[0] if isinstance(names, list) and names else None
    if isinstance(name, str) and (decoder := _decoder_of(name)) != name:
        # The head of labels is no part of the network: `models.retrieval` multiplies by it.
        config = read_config({**raw, "architectures": [decoder]})
        return replace(config, tie_word_embeddings=True, other_parts=(*config.other_parts, CLASSIFIER_HEAD))
    read = ARCHITECTURES.get(name) if isinstance(name, str) else None
    if read is None:
        raise UnsupportedModelError(
            f"config.json names the architecture {name!r}; the shared decoder has {', '.join(ARCHITECTURES)}"
        )
    kind = raw.get("model_type")
    if isinstance(kind, str) and _TYPES.get(kind, name) != name:
        raise UnsupportedModelError(
            f"config.json contradicts itself: a model_type {kind!r} is not of the architecture {name!r}"
        )
    return read(raw)


def _decoder_of(name: str) -> str:
    """Return the architecture of the decoder below a head of labels; `name` itself if it has none."""
    decoder = name.removesuffix(CLASSIFIER) + "ForCausalLM"
    return decoder if name.endswith(CLASSIFIER) and decoder in ARCHITECTURES else name


@dataclass(frozen=True, slots=True)
class NetworkSummary:
    """Description of the network in a model folder, from config.json alone.

    decoder: configuration of the shared decoder; None if transformers computes the network.
    refusal: why the shared decoder does not; empty if it does.
    is_tested: tests compare the architecture with transformers. Others only pass a self-check when they are loaded.
    """

    code: str
    decoder: DecoderConfig | None
    refusal: str
    attention: tuple[AttentionCall, ...]
    max_position_embeddings: int
    is_tested: bool


def summarize(path: Path, dtype: torch.dtype, device: str) -> NetworkSummary:
    """Describe the network in the folder `path`, computed on `device`, without loading its weights.

    Raise ModelNotFoundError without config.json, UnsupportedModelError for a network that cannot be computed.
    """
    folder = ModelFolder(path)
    if is_encoder(folder.config()):
        window = window_of(folder, read_encoder_config(folder.config()))
        return NetworkSummary(ENCODER, None, "it has no KV", (), window, True)
    try:
        config = read_config(folder.config())
    except UnsupportedModelError as error:
        from models.transformers.model import read_shape

        with _adding(error):
            shape = read_shape(folder, dtype, device)
        return NetworkSummary(
            shape.kernels, None, str(error), shape.attention, shape.max_position_embeddings, shape.is_tested
        )
    return NetworkSummary("shared decoder", config, "", config.attention_calls(), config.max_position_embeddings, True)


def check_split(path: Path, size: int, device: str) -> None:
    """Raise UnsupportedModelError if the network in the folder `path` cannot be divided among `size` ranks on `device`.

    Reads config.json alone.
    """
    folder = ModelFolder(path)
    if is_encoder(folder.config()):
        if size > 1:
            raise UnsupportedModelError("an encoder is computed by one process")
        return
    try:
        config = read_config(folder.config())
    except UnsupportedModelError as error:
        from models.transformers import model

        with _adding(error):
            model.check_split(folder, torch.bfloat16, size, device)
    else:
        rank_config(config, size)


def split_layers(path: Path, count: int) -> tuple[int, ...]:
    """Return the number of layers of each of `count` pipeline stages of the network in the folder `path`.

    Raise UnsupportedModelError if the network cannot be divided into stages. Reads config.json alone.
    """
    try:
        config = read_config(ModelFolder(path).config())
    except UnsupportedModelError as error:
        raise UnsupportedModelError(f"only the shared decoder can be divided into stages; {error}") from error
    return stage_layers(config, count)


def load_model(
    path: Path,
    dtype: torch.dtype,
    device: torch.device,
    layers: LayerKinds = TORCH_LAYERS,
    ranks: RankGroup = SINGLE_RANK,
    window: int | None = None,
    *,
    keep_packed: bool = False,
    stage: Stage | None = None,
) -> CausalLM:
    """Load the model in the folder `path`; every weight is converted to `dtype` and put on `device`.

    layers: implementations of norms, rotation and activation. ranks: the tensor-parallel group.
    window: largest number of tokens of a sequence; None for the model's own.
    keep_packed: whether the shared decoder leaves matrices in blocks packed, until `unpack`.
    stage: layers to load, from `split_layers`; None for all.

    Raise ModelNotFoundError for a folder without its files, UnsupportedModelError for a configuration that is not
    implemented, WeightsError for tensors that do not fit it.
    """
    folder = ModelFolder(path)
    try:
        config = read_config(folder.config())
    except UnsupportedModelError as error:
        from models.transformers.model import load_network

        with _adding(error):
            return load_network(folder, dtype, device, window, ranks)
    config = config.fitted_to(window)
    model = DecoderForCausalLM(config, dtype=dtype, device=device, layers=layers, ranks=ranks, stage=stage)
    model.packed = load_weights(
        folder.weight_files(), model.slots(), model.ignores, model.part, model.slots_of, keep_packed=keep_packed
    )
    return model


@contextmanager
def _adding(refusal: UnsupportedModelError) -> Iterator[None]:
    """Put the shared decoder's `refusal` before an error of transformers."""
    try:
        yield
    except ModelError as error:
        raise type(error)("; ".join(dict.fromkeys((str(refusal), str(error))))) from error
