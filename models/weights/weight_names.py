"""Choice of the files that hold a model's weights, among the files of a folder or a repository."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from models.errors import WeightsError
from models.weights.unreadable import why_unreadable

INDEX: Final = "model.safetensors.index.json"
SINGLE: Final = "model.safetensors"


def weight_names(present: Iterable[str], index: Path) -> list[str]:
    """Return the names of the files with weights, sorted: those in the index, the single one, or else all at the top.

    Many folders hold the same weights a second time, in files of other names.

    present: paths of all files, relative to the folder.
    index: the index, which need not exist, and may name files that are not present.

    Raise WeightsError if the index cannot be read, or names files outside its folder.
    """
    if index.is_file():
        return _indexed(index)
    names = sorted(name for name in present if "/" not in name and name.endswith(".safetensors"))
    return [SINGLE] if SINGLE in names else names


def _indexed(index: Path) -> list[str]:
    try:
        names = sorted(set(json.loads(index.read_bytes())["weight_map"].values()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise WeightsError(why_unreadable(index, error)) from error
    if not all(isinstance(name, str) and "/" not in name for name in names):
        raise WeightsError(f"{index} names files outside its folder")
    return names
