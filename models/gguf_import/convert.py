"""Conversion of a GGUF file to a model folder: safetensors, the configurations and the tokenizer."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gguf import PoolingType

from models.errors import ConversionError
from models.gguf_import.metadata import Metadata
from models.gguf_import.network import network_config, tensor_sources
from models.gguf_import.reader import GgufFile
from models.gguf_import.vocabulary import Vocabulary
from models.weights.safetensors_writer import TensorSource, write_tensors


def convert_gguf(file: Path, folder: Path, progress: Callable[[str], None], *, keep_blocks: bool) -> None:
    """Write the model of `file` (any quantization that gguf reads) into the empty `folder`.

    keep_blocks: whether matrices stay in their blocks if the kernels compute with them. All others become bfloat16.

    One tensor at a time is in memory. Raise ConversionError for a file that is cut short or of another kind, and
    OSError if `folder` has no more room.
    """
    progress(f"Reading {file.name}")
    opened = GgufFile.open(file)
    metadata = Metadata(opened.metadata)
    config = network_config(opened.tensors, metadata)
    vocabulary = Vocabulary(metadata)
    window = {"model_max_length": config["max_position_embeddings"]}
    _write_json(folder / "config.json", config | vocabulary.ids() | {"vocab_size": vocabulary.size})
    _write_json(folder / "generation_config.json", vocabulary.ids())
    _write_json(folder / "tokenizer_config.json", vocabulary.config() | window)
    (folder / "tokenizer.json").write_text(vocabulary.tokenizer().to_str(), encoding="utf-8")
    if (pooling := _pooling(metadata)) is not None:
        (folder / "1_Pooling").mkdir()
        _write_json(folder / "1_Pooling" / "config.json", {pooling: True})
    sources = tensor_sources(opened.tensors, metadata, config, keep_blocks=keep_blocks)
    _write_weights(sources, folder / "model.safetensors", progress)


def _pooling(metadata: Metadata) -> str | None:
    """Return sentence-transformers' name of the way in which embeddings are pooled; None if the file names none."""
    pooling = metadata.get(f"{metadata.text('general.architecture')}.pooling_type")
    return {PoolingType.MEAN: "pooling_mode_mean_tokens", PoolingType.LAST: "pooling_mode_lasttoken"}.get(pooling)


def _write_weights(sources: Sequence[TensorSource], file: Path, progress: Callable[[str], None]) -> None:
    quarter = max(1, len(sources) // 4)

    def written(count: int) -> None:
        if count % quarter == 0:
            progress(f"Converting the weights: {count} of {len(sources)} tensors")

    try:
        write_tensors(file, sources, written)
    except (ValueError, RuntimeError) as error:
        raise ConversionError(f"the weights cannot be converted: {error}") from error


def _write_json(file: Path, value: dict[str, Any]) -> None:
    file.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
