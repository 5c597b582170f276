"""Architecture names to model code."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import torch

from models.decoder.config import DecoderConfig
from models.decoder.model import DecoderForCausalLM
from models.errors import UnsupportedModelError
from models.folder import ModelFolder
from models.interface import CausalLM
from models.layers.kinds import TORCH_LAYERS, LayerKinds
from models.llama import architecture as llama
from models.pangu import architecture as pangu
from models.parallel import ALONE, RankGroup
from models.weights import load_weights

ARCHITECTURES: Final[Mapping[str, Callable[[Mapping[str, Any]], DecoderConfig]]] = {
    "LlamaForCausalLM": llama.read_config,
    "PanguEmbeddedForCausalLM": pangu.read_config,
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
