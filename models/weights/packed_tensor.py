"""A matrix in the blocks of a GGUF file."""

from dataclasses import dataclass

import torch

from models.weights.block_types import BLOCK_TYPES, shape_of_weights


@dataclass(frozen=True, slots=True)
class PackedTensor:
    """A matrix in blocks.

    type_: one of BLOCK_TYPES.
    blocks: uint8 [rows, bytes of a row], usually mapped from a file.
    """

    type_: str
    blocks: torch.Tensor

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the matrix."""
        return shape_of_weights(self.type_, self.blocks.shape)

    def is_finite(self) -> bool:
        """Return whether all weights are finite, which they are if the scales and offsets of the blocks are."""
        block = BLOCK_TYPES[self.type_]
        # The exponent of a float16 is in the upper byte, in 5 bits, which are all 1 in infinities and NaN.
        upper = self.blocks.view(-1, block.nbytes)[:, block.scales][:, 1::2]
        return bool(((upper & 0x7C) != 0x7C).all())

    def dequantize(self) -> torch.Tensor:
        """Compute the values that the blocks define, float32 of `shape`."""
        # Only such models need the library.
        import gguf

        values = gguf.dequantize(self.blocks.numpy(), gguf.GGMLQuantizationType[self.type_])
        return torch.from_numpy(values).view(self.shape)
