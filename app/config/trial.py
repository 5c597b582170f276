"""Configuration of an engine that is only asked about, and never built."""

from dataclasses import replace
from pathlib import Path

from app.config.settings import Settings
from engine.config import EngineConfig


def trial_config(settings: Settings, folder: Path) -> EngineConfig:
    """Return the configuration of `settings` for the model in `folder`, which need not be there."""
    # The public prefix is a file that may be missing, and does not matter here.
    return replace(settings, public_prefix=None).engine_config(model_path=folder, model_name="", secret=b"")
