"""The models that settings list: those with a name, and those in a directory."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from app.config.options import SettingsError
from app.config.topics.models import ModelFields

_LATER_PART: Final = re.compile(r"-(\d{5})-of-\d{5}$")
"""End of the stem of a GGUF file in several parts."""

_TOWER: Final = "mmproj"
"""Beginning of the name of a GGUF file that has the part of a model that sees, and no language model."""


def listed_models(models: Mapping[str, ModelFields], models_dir: Path | None) -> dict[str, ModelFields]:
    """Return the fields of each model by its name. A named model hides one of the directory.

    Raise SettingsError if the directory cannot be read or has no model.
    """
    found = models_in(models_dir) if models_dir is not None else {}
    return {**models, **{name: {"model": str(path)} for name, path in found.items() if name not in models}}


def models_in(folder: Path) -> dict[str, Path]:
    """Return the folder or the file of each model in `folder` by its name. Raise SettingsError without any."""
    try:
        entries = sorted(folder.iterdir())
        found = {name: path for path in entries if (name := _name_of(path))}
    except OSError as error:
        raise SettingsError(f"--models-dir {folder}: {error.strerror or error}", param="models-dir") from error
    if not found:
        raise SettingsError(
            f"--models-dir {folder} has neither a folder with a config.json nor a .gguf file", param="models-dir"
        )
    return found


def _name_of(path: Path) -> str:
    """Return the name of the model at `path`; empty if there is none."""
    if path.is_dir():
        return path.name if (path / "config.json").is_file() else ""
    if path.suffix.lower() != ".gguf" or path.name.startswith(_TOWER):
        return ""
    part = _LATER_PART.search(path.stem)
    if part is None:
        return path.stem
    return path.stem[: part.start()] if int(part[1]) == 1 else ""
