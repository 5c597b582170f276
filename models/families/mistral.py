"""Mistral's config.json."""

from collections.abc import Mapping
from typing import Any, Final

from models.decoder.config import DecoderConfig
from models.families import ministral

DEFAULTS: Final[Mapping[str, Any]] = ministral.DEFAULTS
"""Values that config.json may omit, as in transformers."""


def read_config(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read the contents of config.json. Raise as `from_json`.

    A file with `layer_types` has a Ministral, which was first published under Mistral's name.
    """
    return ministral.read_config(raw) if "layer_types" in raw else read_uniform(raw)


def read_uniform(raw: Mapping[str, Any]) -> DecoderConfig:
    """Read a network whose layers all have the file's sliding window, if any. Raise as `from_json`."""
    raw = {**DEFAULTS, **raw}
    config = DecoderConfig.from_json(raw)
    return config.with_windows([raw["sliding_window"] or 0] * config.num_layers)
