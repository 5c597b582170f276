"""Judgement of a GGUF file by its metadata, before its tensors are downloaded."""

from dataclasses import dataclass
from math import prod
from pathlib import Path

import gguf

from models.attention_call import AttentionCall
from models.errors import ConversionError
from models.gguf_import.metadata import Metadata
from models.gguf_import.network import network_config, tensor_sources
from models.gguf_import.vocabulary import Vocabulary
from models.registry import read_config


@dataclass(frozen=True, slots=True)
class GgufHead:
    """Size of the network in a GGUF file."""

    parameters: int
    attention: tuple[AttentionCall, ...]
    max_position_embeddings: int


def read_head(file: Path) -> GgufHead:
    """Read the metadata of `file`, whose tensors may be missing.

    Raise ConversionError for a file that the conversion would refuse, UnsupportedModelError for its network.
    """
    try:
        reader = gguf.GGUFReader(file)
    except Exception as error:  # whatever the reader raises for a damaged file
        raise ConversionError(f"the beginning of the file cannot be read as GGUF: {error}") from error
    metadata = Metadata(reader)
    config = network_config(reader, metadata, has_values=False)
    vocabulary = Vocabulary(metadata)
    decoder = read_config(config | vocabulary.ids() | {"vocab_size": vocabulary.size})
    return GgufHead(
        parameters=sum(prod(source.shape) for source in tensor_sources(reader, metadata, config, keep_blocks=False)),
        attention=decoder.attention_calls(),
        max_position_embeddings=decoder.max_position_embeddings,
    )
