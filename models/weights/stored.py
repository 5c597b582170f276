"""Numbers of weights in a model's files, by the way in which they are stored and used."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from models.weights.folder import ModelFolder
from models.weights.parameter_count import NamedShape, named_shapes

_HEADS: Final = ("lm_head.weight", "embed_out.weight", "output.weight")
"""Ends of the names of output matrices, the last one in GGUF files."""


@dataclass(frozen=True, slots=True)
class StoredWeights:
    """Numbers of weights in a model's files.

    embedding, head: weights of these matrices that are not in blocks. A tied head counts as the embedding alone.
    layers: all others that are not in blocks.
    blocks: weights in blocks, by type.
    nbytes: bytes in the files.
    is_quantized: the files hold a format of other quantizers, which keep it in memory.
    """

    layers: int
    embedding: int
    head: int
    blocks: Mapping[str, int]
    nbytes: int
    is_quantized: bool = False

    @classmethod
    def of_tensors(
        cls, tensors: Iterable[NamedShape], vocab_size: int | None, nbytes: int, *, is_quantized: bool = False
    ) -> "StoredWeights":
        """Count `tensors`. vocab_size: rows of embedding and head; None if unknown."""
        layers, embedding, head, blocks = 0, 0, 0, Counter[str]()
        for name, shape, type_ in tensors:
            count = prod(shape)
            if type_ is not None:
                blocks[type_] += count
            elif len(shape) != 2 or shape[0] != vocab_size:
                layers += count
            elif name.endswith(_HEADS):
                head += count
            else:
                embedding += count
        return cls(layers, embedding, head, blocks, nbytes, is_quantized)

    @property
    def plain(self) -> int:
        """Number of weights that are not in blocks."""
        return self.layers + self.embedding + self.head

    @property
    def count(self) -> int:
        """Number of all weights."""
        return self.plain + sum(self.blocks.values())


def read_stored_weights(folder: ModelFolder) -> StoredWeights:
    """Count the weights in `folder` from the headers of its files.

    Raise ModelNotFoundError for a folder without weights, WeightsError for a file that cannot be read.
    """
    files, config = folder.weight_files(), folder.config()
    nbytes = sum(file.stat().st_size for file in files)
    vocab_size = text_part(config).get("vocab_size")
    return StoredWeights.of_tensors(named_shapes(files), vocab_size, nbytes, is_quantized=holds_quantized(config))


def text_part(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of config.json that describes the language model."""
    part: Mapping[str, Any] = config.get("text_config") or config
    return part


def quantization_of(raw: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the quantization_config of config.json, or of its text part; None if the folder is not quantized."""
    parts = (raw, raw.get("text_config"))
    found = next((part["quantization_config"] for part in parts if part and part.get("quantization_config")), None)
    return {"quant_method": repr(found)} if found is not None and not isinstance(found, Mapping) else found


def holds_quantized(config: Mapping[str, Any]) -> bool:
    """Return whether the folder of config.json has weights in a format of other quantizers."""
    return quantization_of(config) is not None
