"""Rotary positions of GGUF files, as fields of config.json."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from models.errors import ConversionError
from models.gguf_import.metadata import Metadata
from models.gguf_import.reader import FileTensor

FREQUENCIES: Final = "rope_freqs.weight"
"""Divisors of the rotary frequencies of Llama 3, [head_dim / 2]. They have no layer."""
LONGROPE: Final = {"short_factor": "rope_factors_short.weight", "long_factor": "rope_factors_long.weight"}
"""Divisors for short and for long contexts of Phi-3, [rotated width / 2], by their names in config.json."""
ROPE_TENSORS: Final = frozenset({FREQUENCIES, *LONGROPE.values()})

_LLAMA3: Final = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
"""Settings of Llama 3.1, 3.2 and 3.3. Files have only the divisors that follow from these and the factor."""


def rope_fields(
    tensors: Sequence[FileTensor], metadata: Metadata, head_dim: int, *, has_values: bool = True
) -> dict[str, Any]:
    """Read the base and the scaling. Raise ConversionError for a scaling that is not supported.

    has_values: whether the values of tensors are in the file. Without them, a scaling by tensors is left out.
    """
    prefix = metadata.text("general.architecture")
    base = metadata.number(f"{prefix}.rope.freq_base", default=10000.0)
    kind = metadata.get(f"{prefix}.rope.scaling.type", "none")
    divisors = {tensor.name: tensor for tensor in tensors if tensor.name in ROPE_TENSORS}
    if metadata.whole(f"{prefix}.rope.dimension_count", default=head_dim) != head_dim and prefix != "phi3":
        raise ConversionError(f"the file rotates a part of each head ({prefix}.rope.dimension_count)")
    if not has_values and divisors:
        scaling: dict[str, Any] | None = None
    elif kind in ("none", "longrope") and divisors.keys() >= set(LONGROPE.values()):
        scaling = _longrope(divisors, metadata)
    elif kind == "none" and FREQUENCIES in divisors:
        scaling = _llama3(_numbers(divisors[FREQUENCIES]), base, head_dim)
    elif kind == "linear":
        scaling = {"rope_type": "linear", "factor": metadata.decimal(f"{prefix}.rope.scaling.factor")}
    elif kind == "yarn":
        scaling = _yarn(metadata)
    elif kind == "none":
        # Files before 2024 have this key alone.
        factor = metadata.decimal(f"{prefix}.rope.scale_linear", default=1.0)
        scaling = None if factor == 1 else {"rope_type": "linear", "factor": factor}
    else:
        raise ConversionError(
            f"the file scales its rotary positions by {kind!r}, which is not supported for GGUF; use the model's folder"
        )
    return {"rope_theta": base} | ({} if scaling is None else {"rope_scaling": scaling})


def _numbers(tensor: FileTensor) -> npt.NDArray[np.float64]:
    return tensor.values().double().numpy()


def _llama3(divisors: npt.NDArray[np.float64], base: float, head_dim: int) -> dict[str, Any]:
    factor = round(float(divisors.max()), 3)
    expected = _llama3_divisors(base, head_dim, factor)
    if divisors.shape != expected.shape or not np.allclose(divisors, expected, rtol=1e-4):
        raise ConversionError(
            f"the file has divisors in {FREQUENCIES} that are not those of Llama 3.1 to 3.3; use the model's folder"
        )
    return {"rope_type": "llama3", "factor": factor, **_LLAMA3}


def _llama3_divisors(base: float, head_dim: int, factor: float) -> npt.NDArray[np.float64]:
    """Compute the divisors of each frequency: 1 for short waves, `factor` for long ones, and between them a blend."""
    low, high = _LLAMA3["low_freq_factor"], _LLAMA3["high_freq_factor"]
    frequencies = base ** (-np.arange(0, head_dim, 2) / head_dim)
    turns = _LLAMA3["original_max_position_embeddings"] * frequencies / (2 * math.pi)
    share = np.clip((turns - low) / (high - low), 0, 1)
    blended: npt.NDArray[np.float64] = 1 / ((1 - share) / factor + share)
    return blended


def _longrope(divisors: Mapping[str, FileTensor], metadata: Metadata) -> dict[str, Any]:
    prefix = metadata.text("general.architecture")
    factors = {name: _numbers(divisors[tensor]).tolist() for name, tensor in LONGROPE.items()}
    return {
        "rope_type": "longrope",
        "original_max_position_embeddings": metadata.whole(f"{prefix}.rope.scaling.original_context_length"),
        "attention_factor": metadata.number(f"{prefix}.rope.scaling.attn_factor", default=1.0),
        **factors,
    }


def _yarn(metadata: Metadata) -> dict[str, Any]:
    """Read YaRN. Raise ConversionError for an extrapolation factor, which other values would need to be known for."""
    scaling = f"{metadata.text('general.architecture')}.rope.scaling"
    if metadata.number(f"{scaling}.yarn_ext_factor", default=1.0) != 1:
        raise ConversionError(f"the file sets {scaling}.yarn_ext_factor, which is not supported")
    fields: dict[str, Any] = {
        "rope_type": "yarn",
        "factor": metadata.decimal(f"{scaling}.factor"),
        "original_max_position_embeddings": metadata.whole(f"{scaling}.original_context_length"),
        "beta_fast": metadata.decimal(f"{scaling}.yarn_beta_fast", default=32.0),
        "beta_slow": metadata.decimal(f"{scaling}.yarn_beta_slow", default=1.0),
    }
    if metadata.get(f"{scaling}.yarn_attn_factor") is not None:
        fields["attention_factor"] = metadata.number(f"{scaling}.yarn_attn_factor")
    least = metadata.decimal(f"{scaling}.yarn_log_multiplier", default=0.0)
    return fields | ({"mscale": 1.0, "mscale_all_dim": least} if least else {})
