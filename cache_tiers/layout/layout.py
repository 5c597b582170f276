"""Byte layout of one KV block. The tiers see only `nbytes`; attention sees the pages within."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

LAYOUT_VERSION = 2


class PoolOrder(Enum):
    """Order of a pool in device memory, chosen by the attention backend.

    BLOCKS: each block is one contiguous piece. A page in it is [kv_head, slot, dim].
    LAYERS: K and V of each attention call are one tensor each, [block, slot, kv_head, dim], as the operators of an NPU
        require. A block is two pieces per call.
    """

    BLOCKS = "blocks"
    LAYERS = "layers"


@dataclass(frozen=True, slots=True)
class KVShape:
    """Shape of the K and V that one attention call writes for each token.

    k_dim, v_dim: width of a head, in elements.
    """

    kv_heads: int
    k_dim: int
    v_dim: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a block: K or V of one attention call.

    begin: offset in a whole block, in elements.
    shape: that of the page, in the order of the pool.
    """

    begin: int
    shape: tuple[int, int, int]

    @property
    def elements(self) -> int:
        """Size in elements."""
        return self.shape[0] * self.shape[1] * self.shape[2]


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """Layout of one block. Outside the device pool a block is one contiguous piece of memory in either order.

    Changing an order requires a new LAYOUT_VERSION, which is part of every block key. The attention backend, which
    chooses between the two orders, is part of the key too.

    calls: the attention calls of a forward pass, in order.
    block_size: in tokens.
    itemsize: bytes of one element.
    """

    calls: tuple[KVShape, ...]
    block_size: int
    itemsize: int
    order: PoolOrder = PoolOrder.BLOCKS

    @property
    def elements(self) -> int:
        """Size of one block in elements: K and V of all calls."""
        return sum(call.kv_heads * (call.k_dim + call.v_dim) for call in self.calls) * self.block_size

    @property
    def nbytes(self) -> int:
        """Size of one block in bytes."""
        return self.elements * self.itemsize

    def pieces(self) -> Iterator[Piece]:
        """Yield the K and then the V of each call. Together they are the block, without gaps."""
        begin = 0
        for call in self.calls:
            for dim in (call.k_dim, call.v_dim):
                heads, slots = call.kv_heads, self.block_size
                page = (heads, slots, dim) if self.order is PoolOrder.BLOCKS else (slots, heads, dim)
                piece = Piece(begin, page)
                yield piece
                begin += piece.elements
