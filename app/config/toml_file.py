"""Settings in a TOML file, with a table for each of several models."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from app.config.options import Option, SettingsError, did_you_mean, parse_option

MODELS: Final = "models"
"""Key of the tables of models."""

OF_A_MODEL: Final = (
    "model",
    "dtype",
    "quantization",
    "device",
    "attention",
    "cpu-kernels",
    "no-decode-graphs",
    "pooling",
    "rerank-words",
    "max-model-len",
    "tool-format",
    "max-num-seqs",
    "max-num-batched-tokens",
    "max-answer-tokens",
    "itl-target",
    "decode-passes",
    "no-speculation",
    "draft-model",
    "draft-quantization",
    "adapters-dir",
    "public-prefix",
    "kv-memory",
    "cpu-kv-memory",
    "keep-alive",
)
"""Settings that each of several models may have for itself."""


def values_of_file(path: Path, options: Sequence[Option]) -> dict[str, object]:
    """Return the settings in the file at `path` by their fields.

    Raise SettingsError for a file that cannot be read, an unknown key, and an invalid value.
    """
    try:
        table = tomllib.loads(path.read_text())
    except OSError as error:
        raise SettingsError(f"config file {path}: {error.strerror or error}", param="config") from error
    except ValueError as error:
        raise SettingsError(f"config file {path} is not TOML: {error}", param="config") from error
    by_name = {option.name: option for option in options}
    values: dict[str, object] = {}
    for name, value in table.items():
        if name == MODELS and isinstance(value, dict):
            values[MODELS] = {model: _of_model(path, model, own, by_name) for model, own in value.items()}
            continue
        field_name, parsed = _parsed(f"{path}: {name}", name, value, by_name)
        values[field_name] = parsed
    return values


def _of_model(path: Path, model: str, value: object, by_name: Mapping[str, Option]) -> dict[str, object]:
    """Return the settings of one model by their fields. A text instead of a table names the model alone."""
    where = f"{path}: {MODELS}.{model}"
    table = {"model": value} if isinstance(value, str) else value
    if not isinstance(table, dict):
        raise SettingsError(f"{where} must be a table or a string", param=MODELS)
    own = {name: by_name[name] for name in OF_A_MODEL}
    return dict(_parsed(f"{where}.{name}", name, each, own) for name, each in table.items())


def _parsed(where: str, name: str, value: object, by_name: Mapping[str, Option]) -> tuple[str, object]:
    if name not in by_name:
        raise SettingsError(
            f"{where.removesuffix(name).rstrip(' .:')}: unknown key {name}{did_you_mean(name, by_name)}", param=name
        )
    text = _text(value)
    if text is None:
        raise SettingsError(f"{where} must be a string, a whole number, true or false", param=name)
    return parse_option(by_name[name], text, where)


def _text(value: object) -> str | None:
    """Return a value as a user would type it, and a table as `key=value,...`; None for types that no setting takes."""
    if isinstance(value, dict):
        return ",".join(f"{name}={number}" for name, number in value.items())
    return str(value) if isinstance(value, str | int) else None
