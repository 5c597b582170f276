"""The finding of `ebb doctor` on a server with several models: what each takes, and how they divide the memory."""

from app.config.options import SettingsError
from app.config.served_models import has_several_models, served_models
from app.config.settings import Settings
from app.config.sizes import format_size
from app.doctor.finding import Finding
from app.host.model_memory import memory_on_cpu
from engine.device.choice import choose_device
from engine.worker.host_resources import available_memory
from models.download.resolve import find_model
from models.errors import ModelError


def check_models(settings: Settings) -> Finding:
    """Compare the memory of each of several models with that of this machine."""
    if not has_several_models(settings):
        return Finding("ok", "models", "one; --models or --models-dir lists several")
    try:
        served = served_models(settings)
        sizes = {name: size for name, own in served.items() if (size := _size(own)) is not None}
    except SettingsError as error:
        return Finding("fail", "models", str(error), "correct the settings")
    except ModelError as error:
        return Finding("warn", "models", str(error), "choose another model, or run `ebb pull NAME` again")
    free, most = available_memory(), min(settings.models_max, len(served))
    shown = "; ".join(f"{name} {format_size(size)}" for name, size in sizes.items())
    shares = f"at most {most} at once. Redis and the disk are shared; each has a CPU tier, {_tier(settings, most)}"
    text = f"{shown or 'none is on this machine yet'}; {shares}"
    if too_large := [name for name, size in sizes.items() if size > free]:
        text = f"{', '.join(too_large)} not loadable in {format_size(free)} of available memory. {text}"
        return Finding("warn", "models", text, "lower kv-memory of the model, or choose a smaller one")
    return Finding("ok", "models", text)


def _size(settings: Settings) -> int | None:
    """Return the memory of a model with its pools; None for one that is not here yet, or on an accelerator."""
    folder = find_model(settings.model, settings.cache_dir)
    if folder is None or choose_device(settings.device) != "cpu":
        return None
    draft = find_model(settings.draft_model, settings.cache_dir) if settings.draft_model else None
    return memory_on_cpu(settings, folder, draft).total


def _tier(settings: Settings, most: int) -> str:
    if settings.cpu_kv_memory is not None:
        return f"of {format_size(settings.cpu_kv_memory)} unless its table says otherwise"
    return f"by default of the size that fits one of {most} equal parts of the memory"
