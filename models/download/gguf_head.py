"""Judgement of a GGUF file by its metadata, before its tensors are downloaded or converted."""

from dataclasses import dataclass
from pathlib import Path

from models.decoder.config import DecoderConfig
from models.gguf_import.metadata import Metadata
from models.gguf_import.network import network_config, tensor_sources
from models.gguf_import.reader import FileTensor, GgufFile
from models.gguf_import.rope import ROPE_TENSORS
from models.gguf_import.vocabulary import Vocabulary
from models.registry import read_config
from models.weights.block_types import BLOCK_TYPES
from models.weights.stored import StoredWeights


@dataclass(frozen=True, slots=True)
class GgufHead:
    """Network in a GGUF file.

    block_types: types of the blocks that stay as they are.
    """

    stored: StoredWeights
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
    tensor_sources(head.tensors, metadata, config, keep_blocks=False)  # refuses tensors that no supported model has
    tensors = [(each.name, each.shape, _block_type(each)) for each in head.tensors if each.name not in ROPE_TENSORS]
    return GgufHead(
        stored=StoredWeights.of_tensors(tensors, vocabulary.size, file.stat().st_size),
        decoder=decoder,
        block_types=tuple(sorted({tensor.type_.name for tensor in head.tensors} & set(BLOCK_TYPES))),
    )


def _block_type(tensor: FileTensor) -> str | None:
    """Return the type of the blocks of `tensor` that stay as they are; None if its values become numbers."""
    return tensor.type_.name if tensor.type_.name in BLOCK_TYPES and len(tensor.shape) == 2 else None
