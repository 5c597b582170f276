"""Check of the code that will compute the model: the native step, the shared decoder in torch, or transformers."""

from dataclasses import replace
from pathlib import Path

import torch

from app.config.settings import Settings
from app.doctor.finding import Finding
from engine.config import EngineConfig
from engine.device_choice import choose_device
from engine.errors import EngineError
from engine.worker.native.selection import matrices_refusal, native_refusal
from models.errors import ModelError
from models.registry import NetworkSummary, check_split, summarize
from models.resolve import find_model


def check_network(settings: Settings) -> Finding:
    """Check which code computes the model, and report why those that are faster do not. Reads config.json alone."""
    folder = find_model(settings.model, settings.cache_dir)
    if folder is None:
        return Finding("ok", "network", "depends on the model, which is not on this machine yet")
    try:
        network = summarize(folder, getattr(torch, settings.dtype), choose_device(settings.device))
        refusal = why_not_native(settings, folder, network)
        plain = matrices_refusal(_engine_config(settings, folder))
    except EngineError as error:
        return Finding("fail", "network", error.message, "choose another --cpu-kernels, or omit the option")
    except ModelError as error:
        return Finding("fail", "network", str(error), "choose another --model")
    try:
        check_split(folder, settings.tensor_parallel_size, choose_device(settings.device))
    except ModelError as error:
        return Finding("fail", "network", str(error), "choose another --tensor-parallel-size, or omit the option")
    if network.decoder is None:
        matrices = "native matrices" if plain is None else f"matrices of torch ({plain})"
        calls = f"{len(network.attention)} attention calls per pass"
        text = f"{network.code}, {calls}, {matrices}, because {network.refusal}"
        if not network.is_tested:
            advice = "the architecture is not one of those tested (docs/models.md): compare a few long answers"
            return Finding("warn", "network", text, advice)
        return Finding("ok", "network", text)
    if refusal is None:
        return Finding("ok", "network", "native step")
    return Finding("ok", "network", f"{network.code} in torch, because {refusal}")


def why_not_native(settings: Settings, folder: Path, network: NetworkSummary) -> str | None:
    """Return why the native step cannot compute `network`, apart from a missing compiler; None if it can.

    Raise EngineError if the settings name an instruction set that this CPU does not have.
    """
    return native_refusal(_engine_config(settings, folder), network.decoder)


def _engine_config(settings: Settings, folder: Path) -> EngineConfig:
    # The public prefix is a file that may be missing, and does not matter here.
    return replace(settings, public_prefix=None).engine_config(model_path=folder, model_name="", secret=b"")
