"""Number of a model's parameters, read from the headers of its weight files."""

from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path

from safetensors import SafetensorError, safe_open

from models.errors import WeightsError
from models.weights.block_types import shape_of_weights, tensor_types
from models.weights.unreadable import why_unreadable

NamedShape = tuple[str, tuple[int, ...], str | None]
"""Name of a tensor, shape of its weights, and type of its blocks; None for a tensor that is not in blocks."""


def count_parameters(files: Sequence[Path]) -> int:
    """Count the numbers in all tensors of `files`. Raise WeightsError for a file that cannot be read."""
    return sum(prod(shape) for _, shape, _ in named_shapes(files))


def named_shapes(files: Sequence[Path]) -> Iterator[NamedShape]:
    """Yield the tensors of `files`. Raise WeightsError for a file that cannot be read."""
    for file in files:
        try:
            with safe_open(file, framework="np") as tensors:
                types = tensor_types(tensors.metadata())
                for name in tensors.keys():  # noqa: SIM118 - safe_open is not a mapping
                    type_, shape = types.get(name), tuple(tensors.get_slice(name).get_shape())
                    yield name, shape if type_ is None else shape_of_weights(type_, shape), type_
        except (SafetensorError, OSError) as error:
            raise WeightsError(why_unreadable(file, error)) from error
