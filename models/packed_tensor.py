"""A matrix in the blocks of a GGUF file."""

from dataclasses import dataclass

import torch

from models.block_types import shape_of_weights


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

    def dequantize(self) -> torch.Tensor:
        """Compute the values that the blocks define, float32 of `shape`."""
        # Only such models need the library.
        import gguf

        values = gguf.dequantize(self.blocks.numpy(), gguf.GGMLQuantizationType[self.type_])
        return torch.from_numpy(values).view(self.shape)
