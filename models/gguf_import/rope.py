"""Rotary positions of GGUF files, as fields of config.json."""

import math
from typing import Any, Final

import gguf
import numpy as np
import numpy.typing as npt

from models.errors import ConversionError
from models.gguf_import.metadata import Metadata

FREQUENCIES: Final = "rope_freqs.weight"
"""Divisors of the rotary frequencies, [head_dim / 2]. They have no layer."""

_LLAMA3: Final = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
"""Settings of Llama 3.1, 3.2 and 3.3. Files have only the divisors that follow from these and the factor."""


def rope_fields(reader: gguf.GGUFReader, metadata: Metadata, head_dim: int) -> dict[str, Any]:
    """Read the base and the scaling. Raise ConversionError for a scaling other than that of Llama 3."""
    prefix = metadata.text("general.architecture")
    base = metadata.number(f"{prefix}.rope.freq_base", default=10000.0)
    found = next((tensor for tensor in reader.tensors if tensor.name == FREQUENCIES), None)
    kind = metadata.get(f"{prefix}.rope.scaling.type", "none")
    if kind != "none":
        raise ConversionError(
            f"the file scales its rotary positions by {kind!r}, which is not supported for GGUF; use the model's folder"
        )
    if found is None:
        return {"rope_theta": base}
    divisors = gguf.dequantize(found.data, found.tensor_type).astype(np.float64)
    factor = round(float(divisors.max()), 3)
    expected = _llama3_divisors(base, head_dim, factor)
    if divisors.shape != expected.shape or not np.allclose(divisors, expected, rtol=1e-4):
        raise ConversionError(
            f"the file has divisors in {FREQUENCIES} that are not those of Llama 3.1 to 3.3; use the model's folder"
        )
    scaling = {"rope_type": "llama3", "factor": factor, **_LLAMA3}
    return {"rope_theta": base, "rope_scaling": scaling}


def _llama3_divisors(base: float, head_dim: int, factor: float) -> npt.NDArray[np.float64]:
    """Compute the divisors of each frequency: 1 for short waves, `factor` for long ones, and between them a blend."""
    low, high = _LLAMA3["low_freq_factor"], _LLAMA3["high_freq_factor"]
    frequencies = base ** (-np.arange(0, head_dim, 2) / head_dim)
    turns = _LLAMA3["original_max_position_embeddings"] * frequencies / (2 * math.pi)
    share = np.clip((turns - low) / (high - low), 0, 1)
    blended: npt.NDArray[np.float64] = 1 / ((1 - share) / factor + share)
    return blended
