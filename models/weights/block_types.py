"""Types of the blocks in which a model folder may hold a matrix: those of GGUF files that the kernels compute with."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from safetensors import SafetensorError, safe_open

from models.errors import WeightsError
from models.weights.unreadable import why_unreadable

METADATA_KEY: Final = "gguf_types"
"""Key of a safetensors file's metadata: a JSON object from the names of tensors in blocks to their types."""


@dataclass(frozen=True, slots=True)
class BlockType:
    """A type of blocks, by its name in GGUF files.

    places: number of weights of a row that form a block.
    nbytes: size of a block.
    scales: the bytes of a block that are float16 numbers: the scale, and the offset if there is one.
    """

    places: int
    nbytes: int
    scales: slice


BLOCK_TYPES: Final[Mapping[str, BlockType]] = {
    "Q8_0": BlockType(32, 34, slice(0, 2)),
    "Q4_0": BlockType(32, 18, slice(0, 2)),
    "IQ4_NL": BlockType(32, 18, slice(0, 2)),
    "Q4_1": BlockType(32, 20, slice(0, 4)),
    "Q5_0": BlockType(32, 22, slice(0, 2)),
    "Q5_1": BlockType(32, 24, slice(0, 4)),
    "Q4_K": BlockType(256, 144, slice(0, 4)),
    "Q5_K": BlockType(256, 176, slice(0, 4)),
    "Q6_K": BlockType(256, 210, slice(208, 210)),
}


def tensor_types(metadata: Mapping[str, Any] | None) -> dict[str, str]:
    """Read which tensors of a safetensors file are in blocks, from the metadata of the file.

    Raise WeightsError for an unknown type.
    """
    types: dict[str, str] = json.loads((metadata or {}).get(METADATA_KEY, "{}"))
    for name, type_ in types.items():
        if type_ not in BLOCK_TYPES:
            raise WeightsError(f"the tensor {name} has blocks of the unknown type {type_!r}")
    return types


def stored_types(files: Iterable[Path]) -> tuple[str, ...]:
    """Return the types of blocks in safetensors `files`, sorted. Raise WeightsError for a file that cannot be read."""
    found = set[str]()
    for file in files:
        try:
            with safe_open(file, framework="np") as tensors:
                found.update(tensor_types(tensors.metadata()).values())
        except (SafetensorError, OSError) as error:
            raise WeightsError(why_unreadable(file, error)) from error
    return tuple(sorted(found))


def shape_of_weights(type_: str, shape: Sequence[int]) -> tuple[int, int]:
    """Return the shape of a matrix whose blocks have the shape [rows, bytes of a row]."""
    rows, row_bytes = shape
    block = BLOCK_TYPES[type_]
    return rows, row_bytes // block.nbytes * block.places
