"""The bytes of one KV block. Tiers see only `nbytes`; attention sees the shape."""

from dataclasses import dataclass
from enum import Enum

LAYOUT_VERSION = 1


class PoolOrder(Enum):
    """How the blocks of a pool lie in the device's memory; which one is the attention backend's choice.

    BLOCKS: [block, layer, 2 (K, V), kv_head, slot, head_dim], so a block is one contiguous piece.
    LAYERS: [layer, 2 (K, V), block, slot, kv_head, head_dim], so a block is 2 x layers pieces, and K and V of a layer
    are one tensor each, as the operators of an NPU want them.
    """

    BLOCKS = "blocks"
    LAYERS = "layers"


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """One block outside the device's pool is one contiguous piece of memory of `shape`, in either order.

    A change of these orders is a new LAYOUT_VERSION, which is part of every block key; so is the attention backend,
    which decides between the two.
    """

    num_layers: int
    num_kv_heads: int
    block_size: int
    head_dim: int
    itemsize: int
    order: PoolOrder = PoolOrder.BLOCKS

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """Shape of one block in elements."""
        heads, slots = self.num_kv_heads, self.block_size
        page = (heads, slots) if self.order is PoolOrder.BLOCKS else (slots, heads)
        return (self.num_layers, 2, *page, self.head_dim)

    def pool_shape(self, num_blocks: int) -> tuple[int, ...]:
        """Shape of the whole pool in elements."""
        if self.order is PoolOrder.BLOCKS:
            return (num_blocks, *self.shape)
        return (*self.shape[:2], num_blocks, *self.shape[2:])

    @property
    def nbytes(self) -> int:
        """Bytes of one block, all layers, K and V."""
        layers, two, heads, slots, dim = self.shape
        return layers * two * heads * slots * dim * self.itemsize
