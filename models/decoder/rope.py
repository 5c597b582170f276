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


def rope_object(raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the object `key` of config.json; empty if there is none. Raise UnsupportedModelError for another value."""
    value = raw.get(key) or {}
    if not isinstance(value, Mapping):
        raise UnsupportedModelError(f"config.json needs an object for {key}, but has {value!r}")
    return value


def with_one_rope(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return config.json with one set of rotary parameters: as `rope_parameters` where both of its keys have one.

    transformers 5 writes everything to `rope_parameters`. Older files, and users who follow a model's page to extend
    its context, write `rope_scaling`, which precedes. transformers then drops a base and a rotated part that
    `rope_parameters` alone has. They are kept here.

    Raise UnsupportedModelError if it is unclear which base or part is meant.
    """
    older, newer = rope_object(raw, "rope_scaling"), rope_object(raw, "rope_parameters")
    if not older or not newer or any(isinstance(value, Mapping) for value in newer.values()):
        return dict(raw)
    kept = {}
    for key in ("rope_theta", "partial_rotary_factor"):
        known = [source[key] for source in (raw, newer) if source.get(key) is not None]
        if key not in older and known:
            kept[key] = known[0]
            if known[0] != known[-1]:
                raise UnsupportedModelError(
                    f"config.json contradicts itself: {key} is {known[0]!r}, but {known[1]!r} in rope_parameters. Put "
                    "the right one into rope_scaling"
                )
    return {**raw, "rope_scaling": None, "rope_parameters": {**kept, **older}}


def read_rope(
    raw: Mapping[str, Any], head_dim: int, *, may_be_partial: bool = False, default_theta: float = 10_000.0
) -> Rope:
    """Read the rotary positions of config.json. Raise UnsupportedModelError with the key for unsupported ones.

    may_be_partial: whether the family rotates a part of each head, `partial_rotary_factor`. For other families,
        transformers ignores the key, but cannot compute scaled positions with it.
    default_theta: the base if config.json has none.
    """
    raw = with_one_rope(raw)
    rope = rope_object(raw, "rope_parameters") or rope_object(raw, "rope_scaling")
    if any(isinstance(value, Mapping) for value in rope.values()):
        raise UnsupportedModelError("rope_parameters of their own for each kind of layer are not supported here")
    known: dict[str, Any] = {key: raw[key] for key in ("rope_theta", "partial_rotary_factor") if key in raw}
    rope = {"rope_theta": default_theta, **known, **rope}
    part = positive(rope.get("partial_rotary_factor", 1.0), "partial_rotary_factor")
    if not may_be_partial:
        if part != 1 and _kind(rope) != "default":
            raise UnsupportedModelError(f"partial_rotary_factor {part} with scaled positions is not supported")
        part = 1.0
    rotary_dim = int(head_dim * part)
    if part > 1 or rotary_dim < 2 or rotary_dim % 2:
        raise UnsupportedModelError(f"partial_rotary_factor {part} leaves no pairs in heads of {head_dim}")
    theta = positive(rope["rope_theta"], "rope_theta")
    return Rope(theta, _scaling(raw, rope, rotary_dim), 0 if rotary_dim == head_dim else rotary_dim)


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
        original_max_position=_original(raw, rope),
    )


def _kind(rope: Mapping[str, Any]) -> Any:
    return rope.get("rope_type", rope.get("type", "default"))


def _yarn(raw: Mapping[str, Any], rope: Mapping[str, Any]) -> Yarn:
    original = _original(raw, rope)
    factor = rope.get("factor")
    factor = positive(raw["max_position_embeddings"] / original if factor is None else factor, "rope scaling factor")
    magnitude = rope.get("attention_factor")
    if magnitude is None:
        most, least = rope.get("mscale"), rope.get("mscale_all_dim")
        growth = 0.1 * math.log(max(factor, 1.0))
        magnitude = (1 + growth * most) / (1 + growth * least) if most and least else 1 + growth
    return Yarn(
        theta=positive(rope["rope_theta"], "rope_theta"),
        factor=factor,
        fast=positive(rope.get("beta_fast") or 32, "rope scaling beta_fast"),
        slow=positive(rope.get("beta_slow") or 1, "rope scaling beta_slow"),
        original_max_position=original,
        truncates=bool(rope.get("truncate", True)),
        magnitude=positive(magnitude, "rope scaling attention_factor"),
    )


def _original(raw: Mapping[str, Any], rope: Mapping[str, Any]) -> int:
    """Return the context of the training. As in transformers, a value outside of the rotary parameters precedes."""
    return positive_size({**rope, **raw}, "original_max_position_embeddings", default=raw["max_position_embeddings"])


def _longrope(raw: Mapping[str, Any], rope: Mapping[str, Any], rotary_dim: int) -> LongRope:
    most = positive_size(raw, "max_position_embeddings")
    original = _original(raw, rope)
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
