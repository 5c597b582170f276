"""Architecture names to model code."""

from pathlib import Path

import torch

from models.folder import ModelFolder
from models.interface import CausalLM
from models.layers.kinds import TORCH_LAYERS, LayerKinds
from models.pangu.config import PanguConfig
from models.pangu.model import PanguForCausalLM
from models.weights import load_weights


def load_model(path: Path, dtype: torch.dtype, device: torch.device, layers: LayerKinds = TORCH_LAYERS) -> CausalLM:
    """Load the model in the folder `path`; every weight is converted to `dtype` and put on `device`.

    layers: how norms, rotation and activation are computed.

    Raises ModelNotFoundError for a folder without its files, UnsupportedModelError for a configuration that is not
    implemented, WeightsError for tensors that do not fit it.
    """
    folder = ModelFolder(path)
    # One decoder serves every known architecture; PanguConfig refuses the others by name.
    config = PanguConfig.from_json(folder.config())
    model = PanguForCausalLM(config, dtype=dtype, device=device, layers=layers)
    load_weights(folder.weight_files(), model.slots(), model.ignores)
    return model
