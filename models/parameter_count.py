"""Number of a model's parameters, read from the headers of its weight files."""

from collections.abc import Sequence
from math import prod
from pathlib import Path

from safetensors import SafetensorError, safe_open

from models.block_types import shape_of_weights, tensor_types
from models.errors import WeightsError


def count_parameters(files: Sequence[Path]) -> int:
    """Count the numbers in all tensors of `files`. Raise WeightsError for a file that cannot be read."""
    count = 0
    for file in files:
        try:
            with safe_open(file, framework="np") as tensors:
                types = tensor_types(tensors.metadata())
                for name in tensors.keys():  # noqa: SIM118 - safe_open is not a mapping
                    shape = tensors.get_slice(name).get_shape()
                    count += prod(shape_of_weights(types[name], shape) if name in types else shape)
        except (SafetensorError, OSError) as error:
            raise WeightsError(f"{file} cannot be read and may be truncated: {error}") from error
    return count
