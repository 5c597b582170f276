"""Weights of a network, read by transformers: sharded, tied, renamed and merged tensors are its work."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final, cast

import torch
from transformers import GenerationConfig, PreTrainedModel
from transformers.utils import logging as transformers_logging

from models.errors import WeightsError
from models.transformers.attention_bridge import EAGER
from models.transformers.refusals import network_class, read_config
from models.weights.block_types import stored_types
from models.weights.folder import ModelFolder
from models.weights.stored import quantization_of
from models.weights.weight_names import INDEX

logger = logging.getLogger(__name__)

_TEXT_PART: Final[Mapping[str, str]] = MappingProxyType(
    {r"^language_model\.": "", r"^model\.language_model\.": "model."}
)
"""Names of the language model's tensors in a folder that also has other parts, such as one for images."""


def load_weights(folder: ModelFolder, dtype: torch.dtype, device: torch.device) -> PreTrainedModel:
    """Load the network in `folder` from safetensors files alone, to serve on `device`.

    A quantized one is on `device` afterwards, and any other on the CPU.

    Raise ModelNotFoundError without such files, WeightsError if tensors are missing, misshaped or unreadable, and as
    `read_config`.
    """
    config = read_config(folder, device.type)
    files = folder.weight_files()
    if (folder.path / INDEX).is_file():
        # transformers would prefer a model.safetensors to the files of the index.
        config.transformers_weights = INDEX
    is_part = config.model_type != folder.config()["model_type"]
    if stored_types(files):
        raise WeightsError(f"{folder.path} holds blocks of a GGUF file; only the shared decoder computes with them")
    try:
        with _quiet():
            loaded: Any = network_class(config).from_pretrained(
                folder.path,
                config=config,
                # Unused, but without one, transformers would read it from files in its own way.
                generation_config=GenerationConfig(),
                dtype=dtype,
                attn_implementation=EAGER,
                local_files_only=True,
                use_safetensors=True,
                output_loading_info=True,
                key_mapping=dict(_TEXT_PART) if is_part else None,
                device_map={"": device} if quantization_of(folder.config()) else None,
            )
    except Exception as error:  # whatever transformers, safetensors and torch raise for files that do not fit
        raise WeightsError(f"transformers cannot load {folder.path}: {error}") from error
    network, report = cast("tuple[PreTrainedModel, dict[str, list[str]]]", loaded)
    wrong = sorted((*report["missing_keys"], *map(str, report["mismatched_keys"])))
    if wrong:
        raise WeightsError(f"{folder.path} lacks tensors of {type(network).__name__}: {', '.join(wrong[:3])}")
    if unused := sorted(report["unexpected_keys"]):
        logger.info("%d tensors in %s are not used, such as %s", len(unused), folder.path, unused[0])
    return network


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the progress bar of transformers, and its table of tensors, which `load_weights` reports itself."""
    before, had_bar = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(before)
        if had_bar:
            transformers_logging.enable_progress_bar()
