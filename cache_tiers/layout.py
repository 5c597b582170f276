"""The bytes of one KV block. Tiers see only `nbytes`; attention sees the shape."""

from dataclasses import dataclass

LAYOUT_VERSION = 1


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """One block is one contiguous piece of memory: [layer, 2 (K, V), kv_head, slot, head_dim].

    A change of this order is a new LAYOUT_VERSION, which is part of every block key.
    """

    num_layers: int
    num_kv_heads: int
    block_size: int
    head_dim: int
    itemsize: int

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """Shape of one block in elements."""
        return (self.num_layers, 2, self.num_kv_heads, self.block_size, self.head_dim)

    @property
    def nbytes(self) -> int:
        """Bytes of one block, all layers, K and V."""
        layers, two, heads, slots, dim = self.shape
        return layers * two * heads * slots * dim * self.itemsize
