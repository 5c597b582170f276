"""The default model with three of its layers, which computes faster with the same tokenizer and shapes."""

import json
import shutil
from pathlib import Path

from safetensors import safe_open
from safetensors.torch import save_file

LAYERS = (0, 10, 29)
"""Layers that are kept. Answers of these three do not repeat themselves and depend on every token of the prompt."""


def save_shallow(whole: Path, folder: Path) -> Path:
    """Write `whole` with LAYERS alone, and return `folder`."""
    weights = "model.safetensors"
    shutil.copytree(whole, folder, ignore=shutil.ignore_patterns(weights))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": len(LAYERS)}))
    with safe_open(whole / weights, "pt") as stored:
        names = {name: kept for name in list(stored.keys()) if (kept := _kept(name))}
        save_file({kept: stored.get_tensor(name) for name, kept in names.items()}, folder / weights)
    return folder


def _kept(name: str) -> str | None:
    """Return the tensor's name in the shallow model, or None if the tensor's layer is left out."""
    before, in_layer, after = name.partition(".layers.")
    if not in_layer:
        return name
    number, rest = after.split(".", 1)
    return f"{before}.layers.{LAYERS.index(int(number))}.{rest}" if int(number) in LAYERS else None
