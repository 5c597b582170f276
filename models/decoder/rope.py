"""Rotary positions in config.json."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from models.decoder.values import positive, positive_size
from models.errors import UnsupportedModelError
from models.layers.rope import LinearScaling, Llama3Scaling, LongRope, RopeScaling, Yarn


@dataclass(frozen=True, slots=True)
class Rope:
    """One kind of rotary positions.

    rotary_dim: number of rotated elements of a head; 0 for all.
    """

    theta: float
    scaling: RopeScaling | None
    rotary_dim: int

    @property
    def choice(self) -> str:
        """Name of what the context window chose; empty if it chooses nothing."""
        return "" if self.scaling is None else self.scaling.name

    def fitted_to(self, window: int) -> "Rope":
        """Return the rotary positions for sequences of at most `window` tokens."""
        return (
            replace(self, scaling=replace(self.scaling, window=window)) if isinstance(self.scaling, LongRope) else self
        )


def read_rope(raw: Mapping[str, Any], head_dim: int, *, may_be_partial: bool = False) -> Rope:
    """Read the rotary positions of config.json. Raise UnsupportedModelError with the key for unsupported ones.

    may_be_partial: whether the family rotates a part of each head, `partial_rotary_factor`. For other families,
        transformers ignores the key, but cannot compute scaled positions with it.
    """
    # transformers 5 writes everything to rope_parameters. Older files have rope_theta alongside rope_scaling.
    rope = raw.get("rope_parameters") or raw.get("rope_scaling") or {}
    part = positive(rope.get("partial_rotary_factor", raw.get("partial_rotary_factor", 1.0)), "partial_rotary_factor")
    if not may_be_partial:
        if part != 1 and _kind(rope) != "default":
            raise UnsupportedModelError(f"partial_rotary_factor {part} with scaled positions is not supported")
        part = 1.0
    rotary_dim = int(head_dim * part)
    if part > 1 or rotary_dim < 2 or rotary_dim % 2:
        raise UnsupportedModelError(f"partial_rotary_factor {part} leaves no pairs in heads of {head_dim}")
    return Rope(_theta(raw, rope), _scaling(raw, rope, rotary_dim), 0 if rotary_dim == head_dim else rotary_dim)


def _scaling(raw: Mapping[str, Any], rope: Mapping[str, Any], rotary_dim: int) -> RopeScaling | None:
    kind = _kind(rope)
    if kind == "default":
        return None
    if kind == "linear":
        return LinearScaling(positive(rope.get("factor"), "rope scaling factor"))
    if kind == "longrope":
        return _longrope(raw, rope, rotary_dim)
    if kind == "yarn":
        return _yarn(raw, rope)
    if kind != "llama3":
        raise UnsupportedModelError(
            f"rope scaling of type {kind!r} is not supported, only llama3, linear, longrope and yarn"
        )
    return Llama3Scaling(
        factor=positive(rope.get("factor"), "rope scaling factor"),
        low_freq_factor=positive(rope.get("low_freq_factor"), "rope scaling low_freq_factor"),
        high_freq_factor=positive(rope.get("high_freq_factor"), "rope scaling high_freq_factor"),
        original_max_position=positive_size(rope, "original_max_position_embeddings"),
    )


def _kind(rope: Mapping[str, Any]) -> Any:
    return rope.get("rope_type", rope.get("type", "default"))


def _yarn(raw: Mapping[str, Any], rope: Mapping[str, Any]) -> Yarn:
    original = positive_size(rope, "original_max_position_embeddings")
    factor = rope.get("factor")
    factor = positive(raw["max_position_embeddings"] / original if factor is None else factor, "rope scaling factor")
    magnitude = rope.get("attention_factor")
    if magnitude is None:
        most, least = rope.get("mscale"), rope.get("mscale_all_dim")
        growth = 0.1 * math.log(max(factor, 1.0))
        magnitude = (1 + growth * most) / (1 + growth * least) if most and least else 1 + growth
    return Yarn(
        theta=_theta(raw, rope),
        factor=factor,
        fast=positive(rope.get("beta_fast") or 32, "rope scaling beta_fast"),
        slow=positive(rope.get("beta_slow") or 1, "rope scaling beta_slow"),
        original_max_position=original,
        truncates=rope.get("truncate", True) is True,
        magnitude=positive(magnitude, "rope scaling attention_factor"),
    )


def _theta(raw: Mapping[str, Any], rope: Mapping[str, Any]) -> float:
    return positive(rope.get("rope_theta", raw.get("rope_theta", 10000.0)), "rope_theta")


def _longrope(raw: Mapping[str, Any], rope: Mapping[str, Any], rotary_dim: int) -> LongRope:
    most = positive_size(raw, "max_position_embeddings")
    original = positive_size({**raw, **rope}, "original_max_position_embeddings", default=most)
    factor = positive(most / original if rope.get("factor") is None else rope["factor"], "rope scaling factor")
    magnitude = rope.get("attention_factor")
    if magnitude is None:
        magnitude = math.sqrt(1 + math.log(factor) / math.log(original)) if factor > 1 else 1.0
    return LongRope(
        short=_factors(rope, "short_factor", rotary_dim),
        long=_factors(rope, "long_factor", rotary_dim),
        original_max_position=original,
        window=most,
        magnitude=positive(magnitude, "rope scaling attention_factor"),
    )


def _factors(rope: Mapping[str, Any], key: str, rotary_dim: int) -> tuple[float, ...]:
    values = rope.get(key)
    if not isinstance(values, list) or len(values) != rotary_dim // 2:
        raise UnsupportedModelError(f"config.json needs a list of {rotary_dim // 2} numbers for rope scaling {key}")
    return tuple(positive(value, f"rope scaling {key}") for value in values)
