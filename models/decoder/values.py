"""Checked values of config.json."""

import math
from collections.abc import Mapping
from typing import Any

from models.errors import UnsupportedModelError


def positive_number(raw: Mapping[str, Any], key: str, *, default: float) -> float:
    """Return the number `key` of config.json. Raise UnsupportedModelError if it is not positive."""
    return positive(raw.get(key, default), key)


def positive_size(raw: Mapping[str, Any], key: str, *, default: int | None = None) -> int:
    """Return the whole number `key` of config.json. Raise UnsupportedModelError if it is not positive."""
    value = raw.get(key)
    if value is None:
        value = default
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UnsupportedModelError(f"config.json needs a positive whole number for {key}, but has {value!r}")
    return value


def whole_number(raw: Mapping[str, Any], key: str, *, default: int) -> int:
    """Return the whole number `key` of config.json. Raise UnsupportedModelError if it is negative."""
    value = raw.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise UnsupportedModelError(f"config.json needs a whole number for {key}, but has {value!r}")
    return value


def positive(value: object, name: str) -> float:
    """Return `value` as a number. Raise UnsupportedModelError with `name` if it is not a positive one."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < math.inf:
        raise UnsupportedModelError(f"config.json needs a positive number for {name}, but has {value!r}")
    return float(value)


def softcap(raw: Mapping[str, Any], key: str, *, default: float | None) -> float:
    """Return the softcap `key` of config.json, or 0 if it is null. Raise UnsupportedModelError if not positive."""
    value = raw.get(key, default)
    return 0.0 if value is None else positive(value, key)


def refuse(raw: Mapping[str, Any], *keys: str) -> None:
    """Raise UnsupportedModelError if config.json sets any of `keys`, which the decoder would ignore."""
    for key in keys:
        if raw.get(key):
            raise UnsupportedModelError(f"config.json sets {key}, which is not supported")


def layer_windows(raw: Mapping[str, Any], kinds: list[str], *, default: int | None = None) -> list[int]:
    """Return the window of each layer, 0 for none.

    kinds: kind of each layer if config.json has no `layer_types`.
    default: the window if config.json has no `sliding_window`.

    Raise UnsupportedModelError for other kinds of layers, and for a list of another length.
    """
    kinds = raw.get("layer_types") or kinds
    if len(kinds) != raw["num_hidden_layers"] or not set(kinds) <= {"sliding_attention", "full_attention"}:
        raise UnsupportedModelError("config.json needs sliding_attention or full_attention in layer_types per layer")
    if "sliding_attention" not in kinds:
        return [0] * len(kinds)
    window = positive_size(raw, "sliding_window", default=default)
    return [window if kind == "sliding_attention" else 0 for kind in kinds]
