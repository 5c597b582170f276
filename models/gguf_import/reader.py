"""Reader of GGUF files: metadata as Python values, and tensors that are mapped from the file.

Source of the format: github.com/ggml-org/ggml, docs/gguf.md. The reader of the gguf package makes several objects per
element of a list, which takes half a minute for a vocabulary like Gemma's.
"""

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import gguf
import numpy as np
import numpy.typing as npt
import torch

from models.errors import ConversionError

_MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_SCALARS: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""Types of values by number, as `struct` and numpy name them."""
_STRING, _LIST = 8, 9
_MOST_DIMENSIONS: Final = 4
_ALIGNMENT_KEY, _ALIGNMENT = "general.alignment", 32


@dataclass(frozen=True, slots=True)
class FileTensor:
    """A tensor of a file.

    shape: sizes with the slowest dimension first, unlike in the file.
    data: uint8 [rows, bytes of a row], mapped from the file.
    """

    name: str
    type_: gguf.GGMLQuantizationType
    shape: tuple[int, ...]
    data: npt.NDArray[np.uint8]

    def values(self) -> torch.Tensor:
        """Compute the values, float32 of `shape`.

        Raises:
            NotImplementedError: the gguf package has no dequantization for the type.
        """
        return torch.from_numpy(gguf.dequantize(self.data, self.type_).copy()).view(self.shape)


@dataclass(frozen=True, slots=True)
class GgufFile:
    """Contents of a file."""

    metadata: dict[str, Any]
    tensors: tuple[FileTensor, ...]

    @classmethod
    def open(cls, file: Path) -> "GgufFile":
        """Read the metadata and map the tensors. Raise ConversionError for a damaged file or another kind of file."""
        try:
            return _read(np.memmap(file, np.uint8, mode="r"))
        except (ValueError, KeyError, OverflowError, RecursionError, struct.error, OSError) as error:
            raise ConversionError(f"{file} cannot be read as GGUF and may be truncated: {error}") from error


class _Cursor:
    """A position in a file, and the values behind it. Numbers are little-endian."""

    def __init__(self, data: npt.NDArray[np.uint8]) -> None:
        self._data = data.data
        self.at = 0

    def number(self, kind: str) -> Any:
        """Read a number of a type of `struct`."""
        (value,) = struct.unpack_from(f"<{kind}", self._data, self.at)
        self.at += struct.calcsize(f"<{kind}")
        return value

    def text(self) -> str:
        """Read a string."""
        return self._take(self.number("Q")).decode()

    def value(self, type_: int) -> Any:
        """Read a value of a type by its number."""
        if type_ == _STRING:
            return self.text()
        if type_ != _LIST:
            return self.number(_SCALARS[type_])
        item_type, count = self.number("I"), self.number("Q")
        if item_type in (_STRING, _LIST):
            return [self.value(item_type) for _ in range(count)]
        dtype = np.dtype(f"<{_SCALARS[item_type]}" if item_type != 7 else "?")
        return np.frombuffer(self._take(count * dtype.itemsize), dtype).tolist()

    def _take(self, count: int) -> bytes:
        taken = bytes(self._data[self.at : self.at + count])
        if len(taken) < count:
            raise ValueError("it ends within a value")
        self.at += count
        return taken


def _read(data: npt.NDArray[np.uint8]) -> GgufFile:
    if data[:4].tobytes() != _MAGIC:
        raise ValueError("it does not begin with GGUF")
    cursor = _Cursor(data)
    cursor.at = len(_MAGIC)
    version = cursor.number("I")
    if version not in _VERSIONS:
        raise ValueError(f"it has version {version}, supported are {', '.join(map(str, _VERSIONS))}")
    num_tensors, num_values = cursor.number("Q"), cursor.number("Q")
    metadata: dict[str, Any] = {}
    for _ in range(num_values):
        key = cursor.text()
        if key in metadata:
            raise ValueError(f"it has the key {key} twice")
        metadata[key] = cursor.value(cursor.number("I"))
    described = [_description(cursor) for _ in range(num_tensors)]
    if len({name for name, *_ in described}) < len(described):
        raise ValueError("it has two tensors of one name")
    alignment = metadata.get(_ALIGNMENT_KEY, _ALIGNMENT)
    if not isinstance(alignment, int) or alignment < 1:
        raise ValueError(f"{_ALIGNMENT_KEY} is {alignment!r}")
    start = math.ceil(cursor.at / alignment) * alignment
    return GgufFile(metadata, tuple(_tensor(data, start, *each) for each in described))


def _description(cursor: _Cursor) -> tuple[str, tuple[int, ...], gguf.GGMLQuantizationType, int]:
    """Read the name, the shape and the type of a tensor, and the place of its data."""
    name, dimensions = cursor.text(), cursor.number("I")
    if not 0 < dimensions <= _MOST_DIMENSIONS:
        raise ValueError(f"the tensor {name} has {dimensions} dimensions")
    sizes = [cursor.number("Q") for _ in range(dimensions)]
    return name, tuple(reversed(sizes)), gguf.GGMLQuantizationType(cursor.number("I")), cursor.number("Q")


def _tensor(
    data: npt.NDArray[np.uint8],
    start: int,
    name: str,
    shape: tuple[int, ...],
    type_: gguf.GGMLQuantizationType,
    offset: int,
) -> FileTensor:
    places, nbytes = gguf.GGML_QUANT_SIZES[type_]
    if shape[-1] % places:
        raise ValueError(f"the tensor {name} has rows of {shape[-1]} values, in blocks of {places}")
    rows, row_bytes = math.prod(shape[:-1]), shape[-1] // places * nbytes
    mapped = data[start + offset : start + offset + rows * row_bytes]
    if len(mapped) < rows * row_bytes:
        raise ValueError(f"it ends within the tensor {name}")
    return FileTensor(name, type_, shape, np.asarray(mapped).reshape(rows, row_bytes))
