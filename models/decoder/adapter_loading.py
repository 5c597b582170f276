"""Adapters of every kind, from a folder to the part that one process computes."""

from pathlib import Path

import torch

from models.adapters.folder import read_adapter
from models.adapters.prompts import is_prompt, read_prompt
from models.decoder.adapters import DecoderAdapter, fit_adapter
from models.decoder.config import DecoderConfig
from models.decoder.virtual_rows import VirtualRows, fit_prompt
from models.interface.partition import Stage


def load_adapter(
    path: Path, config: DecoderConfig, stage: Stage, dtype: torch.dtype, *, rank: int = 0, ranks: int = 1
) -> DecoderAdapter | VirtualRows:
    """Read the adapter in the folder `path`, and fit it as `fit_adapter` or `fit_prompt` does.

    Raise ModelError as the readers and they do.
    """
    if is_prompt(path):
        return fit_prompt(read_prompt(path), config, stage, dtype, rank=rank, ranks=ranks)
    return fit_adapter(read_adapter(path), config, stage, dtype, rank=rank, ranks=ranks)
