"""Check of the code that will compute the model: the native step, the shared decoder in torch, or transformers."""

from collections.abc import Sequence
from pathlib import Path

import torch

from app.config.settings import Settings, trial_config
from app.doctor.finding import Finding
from engine.api.errors import EngineError
from engine.device.choice import choose_device
from engine.worker.native.selection import matrices_refusal, native_refusal
from models.download.resolve import find_model, local_gguf
from models.errors import ModelError
from models.registry import ENCODER, NetworkSummary, check_split, split_layers, summarize
from models.weights.block_types import stored_types
from models.weights.folder import ModelFolder


def check_network(settings: Settings) -> Finding:
    """Check which code computes the model, and report why those that are faster do not. Reads no weights."""
    folder = find_model(settings.model, settings.cache_dir)
    if folder is None:
        return _check_unconverted(settings)
    try:
        network = network_of(settings, folder)
        refusal = why_not_native(settings, folder, network)
        plain = matrices_refusal(trial_config(settings, folder))
    except EngineError as error:
        return Finding("fail", "network", error.message, "choose another --cpu-kernels, or omit the option")
    except ModelError as error:
        return Finding("fail", "network", str(error), "choose another --model")
    try:
        check_split(folder, settings.tensor_parallel_size, choose_device(settings.device))
    except ModelError as error:
        return Finding("fail", "network", str(error), "choose another --tensor-parallel-size, or omit the option")
    try:
        if settings.pipeline_parallel_size > 1:
            split_layers(folder, settings.pipeline_parallel_size)
    except ModelError as error:
        return Finding("fail", "network", str(error), "choose another --pipeline-parallel-size, or omit the option")
    if network.code == ENCODER:
        matrices = "native matrices" if plain is None else f"matrices of torch, because {plain}"
        return Finding("ok", "network", f"encoder of {network.max_position_embeddings} tokens, {matrices}")
    if network.decoder is None:
        matrices = "native matrices" if plain is None else f"matrices of torch ({plain})"
        calls = f"{len(network.attention)} attention calls per pass"
        text = f"{network.code}, {calls}, {matrices}, because {network.refusal}"
        if not network.is_tested:
            advice = (
                "the architecture is not one of those tested (docs/reference/models.md): compare a few long answers"
            )
            return Finding("warn", "network", text, advice)
        return Finding("ok", "network", text)
    try:
        blocks = stored_types(ModelFolder(folder).weight_files())
    except ModelError as error:
        return Finding("fail", "network", str(error), "choose another --model, or run `ebb pull` again")
    return Finding("ok", "network", _of_decoder(refusal, blocks))


def _check_unconverted(settings: Settings) -> Finding:
    """Check a model without a folder: a GGUF file by its metadata. Others are not known yet."""
    file = local_gguf(settings.model)
    if file is None:
        return Finding("ok", "network", "depends on the model, which is not ready yet")
    # Only such files need the library.
    from models.download.gguf_head import read_head

    try:
        head = read_head(file)
        refusal = native_refusal(trial_config(settings, file), head.decoder)
    except EngineError as error:
        return Finding("fail", "network", error.message, "choose another --cpu-kernels, or omit the option")
    except ModelError as error:
        return Finding("fail", "network", str(error), "choose another --model")
    return Finding("ok", "network", _of_decoder(refusal, head.block_types))


def _of_decoder(refusal: str | None, blocks: Sequence[str]) -> str:
    """Describe the computation of a network that the shared decoder has.

    refusal: why the native step does not compute it; None if it does.
    blocks: types of the matrices in blocks.
    """
    if refusal is not None:
        return f"shared decoder in torch, because {refusal}"
    return f"native step, with {' and '.join(blocks)} as in the GGUF file" if blocks else "native step"


def network_of(settings: Settings, folder: Path) -> NetworkSummary:
    """Describe the network of the model in `folder`. Raise ModelError."""
    return summarize(folder, getattr(torch, settings.dtype), choose_device(settings.device))


def why_not_native(settings: Settings, folder: Path, network: NetworkSummary) -> str | None:
    """Return why the native step cannot compute `network`, apart from a missing compiler; None if it can.

    Raise EngineError if the settings name an instruction set that this CPU does not have.
    """
    return native_refusal(trial_config(settings, folder), network.decoder)
