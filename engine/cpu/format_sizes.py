"""Sizes of packed weights, known without the kernels."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from engine.cpu.instruction_set import InstructionSet
from engine.cpu.library import BLOCK_FORMATS, HEAD_FORMATS
from models.weights.stored import StoredWeights

WEIGHTS: Final = MappingProxyType({"none": "bfloat16", "int8": "int8", "int4": "int4"})
"""Format of packed weights per value of the setting `quantization`."""

GROUP: Final = 32
"""Weights of a row that are adjacent: kGroup in kernels/group_panels.h."""

_GROUP_BYTES: Final[Mapping[str, float]] = MappingProxyType(
    {
        "bfloat16": 64,
        "int8": 34,
        "int8_bytes": 34,
        "int4": 18,
        "IQ4_NL": 18,
        "Q4_1": 20,
        "Q5_1": 24,
        "Q4_K": 18.5,
        "Q5_K": 22.5,
        "Q6_K": 26.25,
    }
)
"""Bytes of a group with its part of the scales, by format."""

_Q6_K_AS_BYTES: Final = 34.25
"""Bytes of a group of Q6_K where the kernels do not multiply bytes, and hold six bits in eight."""


def packed_bytes(weights: str, count: int, instruction_set: InstructionSet) -> int:
    """Return the size of `count` weights in the format `weights`, one of WEIGHT_FORMATS, without padding."""
    multiplies_bytes = "avx2" in instruction_set.needs
    group = _Q6_K_AS_BYTES if weights == "Q6_K" and not multiplies_bytes else _GROUP_BYTES[weights]
    return int(count * group / GROUP)


def packed_model_bytes(
    stored: StoredWeights, quantization: str, instruction_set: InstructionSet, *, has_decoder: bool
) -> int:
    """Return the bytes of a model's weights as the kernels hold them.

    has_decoder: whether the shared decoder computes the model.
    """
    weights = WEIGHTS[quantization]
    head = HEAD_FORMATS[weights]
    parts = [(BLOCK_FORMATS[type_], count) for type_, count in stored.blocks.items()]
    parts += [(weights, stored.layers), (head, stored.head or stored.embedding)]
    # A tied embedding is the head, except in networks of transformers whose head does not keep the values.
    if stored.head or not (has_decoder or head == "bfloat16"):
        parts.append(("bfloat16", stored.embedding))
    return sum(packed_bytes(format_, count, instruction_set) for format_, count in parts)
