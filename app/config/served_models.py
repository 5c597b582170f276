"""The settings of each model of a server that has several."""

from dataclasses import replace
from pathlib import Path

from app.config.listed_models import listed_models
from app.config.options import SettingsError, did_you_mean
from app.config.settings import Settings


def has_several_models(settings: Settings) -> bool:
    """Return whether the server has a table of models, even if it lists one alone."""
    return bool(settings.models) or settings.models_dir is not None


def served_models(settings: Settings) -> dict[str, Settings]:
    """Return the settings of each model by its name, the default one first.

    The default model is the one that `model` names. If `model` names none of the table, it is added under this name.

    Raise SettingsError for a pinned model that is not listed, for more pinned models than may be in memory, and for
    settings that several models cannot have.
    """
    _check(settings)
    listed = {
        name: replace(settings, **{"model": name, **fields})
        for name, fields in listed_models(settings.models, settings.models_dir).items()
    }
    default = next((name for name, own in listed.items() if settings.model in (name, own.model)), "")
    served = {default or model_name(settings.model): listed.get(default, settings), **listed}
    for name in sorted(settings.models_pinned - served.keys()):
        raise SettingsError(
            f"--models-pinned {name} is not one of the models{did_you_mean(name, served)}", param="models-pinned"
        )
    if len(settings.models_pinned) > settings.models_max:
        raise SettingsError(
            f"--models-pinned names {len(settings.models_pinned)} models, and --models-max {settings.models_max} is "
            "smaller. Raise it, or pin fewer models.",
            param="models-pinned",
        )
    return served


def _check(settings: Settings) -> None:
    """Raise SettingsError for a setting of one model only."""
    if settings.adapters_dir is not None:
        raise SettingsError(
            "--adapters-dir has the adapters of one model. Set adapters-dir in the table [models.NAME] of that model "
            "in TOML, or serve one model without --models and --models-dir.",
            param="adapters-dir",
        )
    if settings.draft_model:
        raise SettingsError(
            "--draft-model drafts for one model. Set draft-model in the table [models.NAME] of that model in TOML, or "
            "serve one model without --models and --models-dir.",
            param="draft-model",
        )
    one_process = {
        "replicas": settings.replicas > 1,
        "replica-roles": bool(settings.replica_roles),
        "ray-address": bool(settings.ray_address),
        "shared-replicas": bool(settings.shared_replicas),
        "tensor-parallel-size": settings.tensor_parallel_size > 1,
        "pipeline-parallel-size": settings.pipeline_parallel_size > 1,
    }
    for name in (name for name, is_set in one_process.items() if is_set):
        raise SettingsError(
            f"--{name} divides one model, and each of several models is one process. Omit --{name}, or serve one "
            "model without --models and --models-dir.",
            param=name,
        )


def model_name(setting: str) -> str:
    """Return the name by which clients request the model: an alias or hub id as it is, or the last part of a path.

    In the name, a question mark stands for each byte of a path that is no text.
    """
    path = Path(setting).expanduser()
    name = path.resolve().name if path.is_dir() else setting
    if path.suffix.lower() == ".gguf":
        name = path.stem
    return name.encode(errors="replace").decode()
