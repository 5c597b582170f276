"""Writer of safetensors files of bfloat16 tensors and matrices in blocks, one tensor in memory at a time.

The format: github.com/huggingface/safetensors, README, "Format".
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from models.weights.block_types import METADATA_KEY


@dataclass(frozen=True, slots=True)
class TensorSource:
    """One tensor to write: its name and shape now, its values when its turn comes.

    values: any float dtype, or uint8 for a matrix in blocks.
    block_type: type of its blocks, whose `shape` is [rows, bytes of a row]; None for values to round to bfloat16.
    """

    name: str
    shape: tuple[int, ...]
    values: Callable[[], torch.Tensor]
    block_type: str | None = None


def write_tensors(file: Path, sources: Sequence[TensorSource], written: Callable[[int], None]) -> None:
    """Write `sources` in their order, rounded to bfloat16 unless they are in blocks.

    `written` receives the count after each. Raise OSError.
    """
    types = {source.name: source.block_type for source in sources if source.block_type is not None}
    metadata = {"format": "pt"} | ({METADATA_KEY: json.dumps(types)} if types else {})
    header: dict[str, object] = {"__metadata__": metadata}
    offset = 0
    for source in sources:
        dtype, size = ("BF16", 2) if source.block_type is None else ("U8", 1)
        end = offset + size * math.prod(source.shape)
        header[source.name] = {"dtype": dtype, "shape": source.shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the bytes of the tensors begin at a multiple of 8
    with file.open("wb") as target:
        target.write(len(text).to_bytes(8, "little") + text)
        for count, source in enumerate(sources, start=1):
            values = source.values()
            if tuple(values.shape) != source.shape:
                raise ValueError(f"{source.name} has shape {tuple(values.shape)}, but {source.shape} was announced")
            if source.block_type is None:
                values = values.to(torch.bfloat16).view(torch.int16)
            target.write(values.contiguous().numpy().data)
            written(count)
