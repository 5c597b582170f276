"""Number of a model's parameters, read from the headers of its weight files."""

from collections.abc import Sequence
from math import prod
from pathlib import Path

from safetensors import SafetensorError, safe_open

from models.errors import WeightsError


def count_parameters(files: Sequence[Path]) -> int:
    """Count the numbers in all tensors of `files`. Raise WeightsError for a file that cannot be read."""
    count = 0
    for file in files:
        try:
            with safe_open(file, framework="np") as tensors:
                count += sum(prod(tensors.get_slice(name).get_shape()) for name in tensors.keys())  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            raise WeightsError(f"{file} cannot be read and may be truncated: {error}") from error
    return count
