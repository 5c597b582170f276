"""Byte layout of one KV block. The tiers see only `nbytes`; attention sees the shape."""

from dataclasses import dataclass
from enum import Enum

LAYOUT_VERSION = 1


class PoolOrder(Enum):
    """Order of a pool's dimensions in device memory, chosen by the attention backend.

    BLOCKS: [block, layer, 2 (K, V), kv_head, slot, head_dim], so a block is one contiguous piece.
    LAYERS: [layer, 2 (K, V), block, slot, kv_head, head_dim], so a block is 2 x layers pieces. K and V of a layer are
        one tensor each, as the operators of an NPU require.
    """

    BLOCKS = "blocks"
    LAYERS = "layers"


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """Shape of one block. Outside the device pool a block is one contiguous piece of memory in either order.

    Changing an order requires a new LAYOUT_VERSION, which is part of every block key. The attention backend, which
    chooses between the two orders, is part of the key too.

    itemsize: bytes of one element.
    """

    num_layers: int
    num_kv_heads: int
    block_size: int
    head_dim: int
    itemsize: int
    order: PoolOrder = PoolOrder.BLOCKS

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """Shape of one block, in elements."""
        heads, slots = self.num_kv_heads, self.block_size
        page = (heads, slots) if self.order is PoolOrder.BLOCKS else (slots, heads)
        return (self.num_layers, 2, *page, self.head_dim)

    def pool_shape(self, num_blocks: int) -> tuple[int, ...]:
        """Return the shape of the whole pool, in elements."""
        if self.order is PoolOrder.BLOCKS:
            return (num_blocks, *self.shape)
        return (*self.shape[:2], num_blocks, *self.shape[2:])

    @property
    def nbytes(self) -> int:
        """Size of one block in bytes: all layers, K and V."""
        layers, two, heads, slots, dim = self.shape
        return layers * two * heads * slots * dim * self.itemsize
