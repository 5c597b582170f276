"""Judgement of a GGUF file by its metadata, before its tensors are downloaded or converted."""

from dataclasses import dataclass
from math import prod
from pathlib import Path

from models.block_types import BLOCK_TYPES
from models.decoder.config import DecoderConfig
from models.gguf_import.metadata import Metadata
from models.gguf_import.network import network_config, tensor_sources
from models.gguf_import.reader import GgufFile
from models.gguf_import.vocabulary import Vocabulary
from models.registry import read_config


@dataclass(frozen=True, slots=True)
class GgufHead:
    """Network in a GGUF file.

    block_types: types of the blocks that stay as they are.
    """

    parameters: int
    decoder: DecoderConfig
    block_types: tuple[str, ...]


def read_head(file: Path) -> GgufHead:
    """Read the metadata of `file`, whose tensors may be missing.

    Raise ConversionError for a file that the conversion would refuse, UnsupportedModelError for its network.
    """
    head = GgufFile.open(file)
    metadata = Metadata(head.metadata)
    config = network_config(head.tensors, metadata, has_values=False)
    vocabulary = Vocabulary(metadata)
    decoder = read_config(config | vocabulary.ids() | {"vocab_size": vocabulary.size})
    return GgufHead(
        parameters=sum(
            prod(source.shape) for source in tensor_sources(head.tensors, metadata, config, keep_blocks=False)
        ),
        decoder=decoder,
        block_types=tuple(sorted({tensor.type_.name for tensor in head.tensors} & set(BLOCK_TYPES))),
    )
