"""Writer of safetensors files of bfloat16 tensors, one tensor in memory at a time.

The format: github.com/huggingface/safetensors, README, "Format".
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch


@dataclass(frozen=True, slots=True)
class TensorSource:
    """One tensor to write: its name and shape now, its values (any float dtype) when its turn comes."""

    name: str
    shape: tuple[int, ...]
    values: Callable[[], torch.Tensor]


def write_bfloat16(file: Path, sources: Sequence[TensorSource], written: Callable[[int], None]) -> None:
    """Write `sources` in their order, rounded to bfloat16; `written` receives the count after each. Raises OSError."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for source in sources:
        end = offset + 2 * math.prod(source.shape)
        header[source.name] = {"dtype": "BF16", "shape": source.shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the bytes of the tensors begin at a multiple of 8
    with file.open("wb") as target:
        target.write(len(text).to_bytes(8, "little") + text)
        for count, source in enumerate(sources, start=1):
            values = source.values()
            if tuple(values.shape) != source.shape:
                raise ValueError(f"{source.name} has shape {tuple(values.shape)}, but {source.shape} was announced")
            target.write(values.to(torch.bfloat16).contiguous().view(torch.int16).numpy().data)
            written(count)
