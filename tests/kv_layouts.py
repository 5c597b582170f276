"""Block layouts of tests."""

from cache_tiers.layout.layout import BlockLayout, KVShape, PoolOrder


def equal_layers(
    layers: int, kv_heads: int, block_size: int, head_dim: int, itemsize: int = 2, order: PoolOrder = PoolOrder.BLOCKS
) -> BlockLayout:
    """Return the layout of a model whose layers store K and V of the same shape."""
    return BlockLayout((KVShape(kv_heads, head_dim, head_dim),) * layers, block_size, itemsize, order)
