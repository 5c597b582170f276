"""Table from architecture names to model code."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import torch

from models.decoder.config import DecoderConfig
from models.decoder.model import DecoderForCausalLM
from models.errors import UnsupportedModelError
from models.folder import ModelFolder
from models.granite import architecture as granite
from models.interface import CausalLM
from models.layers.kinds import TORCH_LAYERS, LayerKinds
from models.llama import architecture as llama
from models.mistral import architecture as mistral
from models.pangu import architecture as pangu
from models.parallel import ALONE, RankGroup
from models.qwen2 import architecture as qwen2
from models.qwen3 import architecture as qwen3
from models.smollm3 import architecture as smollm3
from models.weights import load_weights

ARCHITECTURES: Final[Mapping[str, Callable[[Mapping[str, Any]], DecoderConfig]]] = {
    "GraniteForCausalLM": granite.read_config,
    "LlamaForCausalLM": llama.read_config,
    "MistralForCausalLM": mistral.read_config,
    "PanguEmbeddedForCausalLM": pangu.read_config,
    "Qwen2ForCausalLM": qwen2.read_config,
    "Qwen3ForCausalLM": qwen3.read_config,
    "SmolLM3ForCausalLM": smollm3.read_config,
}
"""Readers of config.json, by the first of its `architectures`. The shared decoder runs all of them."""


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json.

    Raises UnsupportedModelError for an unknown architecture, and as `DecoderConfig.from_json`.
    """
    names = raw.get("architectures") or []
    name = names[0] if isinstance(names, list) and names else None
    read = ARCHITECTURES.get(name) if isinstance(name, str) else None
    if read is None:
        raise UnsupportedModelError(
            f"config.json names the architecture {name!r}; supported are {', '.join(ARCHITECTURES)}"
        )
    return read(raw)


def load_model(
    path: Path,
    dtype: torch.dtype,
    device: torch.device,
    layers: LayerKinds = TORCH_LAYERS,
    ranks: RankGroup = ALONE,
) -> CausalLM:
    """Load the model in the folder `path`; every weight is converted to `dtype` and put on `device`.

    layers: implementations of norms, rotation and activation. ranks: the tensor-parallel group.

    Raises ModelNotFoundError for a folder without its files, UnsupportedModelError for a configuration that is not
    implemented, WeightsError for tensors that do not fit it.
    """
    folder = ModelFolder(path)
    model = DecoderForCausalLM(read_config(folder.config()), dtype=dtype, device=device, layers=layers, ranks=ranks)
    load_weights(folder.weight_files(), model.slots(), model.ignores, model.part)
    return model
