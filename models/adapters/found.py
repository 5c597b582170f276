"""Folders of adapters in a folder."""

from pathlib import Path

from models.adapters.peft_config import CONFIG_FILE
from models.errors import ModelNotFoundError
from models.weights.unreadable import why_unreadable


def find_adapters(folder: Path) -> list[Path]:
    """Return the folders of the adapters in `folder`, in the order of their names. Others have no adapter_config.json.

    Raise ModelNotFoundError if `folder` cannot be read.
    """
    try:
        return sorted(each for each in folder.iterdir() if (each / CONFIG_FILE).is_file())
    except OSError as error:
        raise ModelNotFoundError(why_unreadable(folder, error)) from error


def find_adapter(folder: Path, name: str) -> Path:
    """Return the adapter in `folder` with this name, which leads to no other folder.

    Raise ModelNotFoundError if there is none, or if `folder` cannot be read.
    """
    for path in find_adapters(folder):
        if path.name == name:
            return path
    raise ModelNotFoundError(f"{folder} has no folder {name!r} with {CONFIG_FILE}")
