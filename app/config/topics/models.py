"""Settings of a server with several models."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any

from app.config.options import any_path, integer, setting
from app.config.parsers import named_values

ModelFields = Mapping[str, Any]
"""Settings of one model that differ from the others', by the names of their fields."""


def parse_models(text: str) -> dict[str, ModelFields]:
    """Parse names of models, each with its folder, file, short name or hub id. Raise ValueError with the reason."""
    return {name: {"model": model} for name, model in named_values(text, "name=model").items()}


def parse_names(text: str) -> frozenset[str]:
    """Split names at commas. Raise ValueError for an empty one."""
    names = [part.strip() for part in text.split(",")]
    if not all(names):
        raise ValueError("a name is empty")
    return frozenset(names)


@dataclass(frozen=True, kw_only=True)
class ModelsSettings:
    """The models of a server that has several, and how long they stay in memory."""

    models: Mapping[str, ModelFields] = setting(
        MISSING,
        parse_models,
        "NAME=MODEL,...",
        (
            "several models, each loaded when a request names it; in TOML a table `[models.NAME]` with the key `model` "
            "and settings that differ from the others' ([several models](guides/several-models.md))"
        ),
        default_text="none",
        default_factory=dict,
    )
    models_dir: Path | None = setting(
        None,
        any_path,
        "DIR",
        "directory in which each folder with a `config.json` and each `.gguf` file is one of several models",
        default_text="none",
    )
    models_max: int = setting(
        4,
        integer(1, 64),
        "N",
        "most models in memory at once; an accelerator has one. The least recently used one is unloaded for another",
    )
    models_pinned: frozenset[str] = setting(
        MISSING,
        parse_names,
        "NAME,...",
        "models that are loaded at the start and never unloaded for another one",
        default_text="none",
        default_factory=frozenset,
    )
    keep_alive: int = setting(
        0,
        integer(0, 1 << 24),
        "S",
        "seconds after its last answer when one of several models is unloaded; `0`: never for this reason",
    )
