"""Block tables of requests: prefix match, growth, publication of what fills, return."""

from cache_tiers.block_key import BlockKey, extend_keys
from engine.kv.block import KVCacheBlock
from engine.kv.block_pool import BlockPool
from engine.request import Request


class BlockManager:
    """Moves blocks between the pool and requests. With `prefix_cache` off nothing is ever published or matched."""

    def __init__(self, pool: BlockPool, block_size: int, block_nbytes: int, *, prefix_cache: bool) -> None:
        self.pool = pool
        self.block_size = block_size
        self.block_nbytes = block_nbytes
        self.prefix_cache = prefix_cache

    def num_blocks_for(self, num_tokens: int) -> int:
        """Blocks that hold `num_tokens` tokens."""
        return -(-num_tokens // self.block_size)

    def num_matchable(self, request: Request) -> int:
        """Full blocks that may come from a cache: at least one token is always computed, for its logits."""
        return (request.num_tokens - 1) // self.block_size if self.prefix_cache else 0

    def match_prefix(self, request: Request) -> int:
        """Take the longest published prefix into an empty block table; returns how many blocks."""
        assert not request.blocks
        size = self.block_size
        for index, key in enumerate(request.block_keys[: self.num_matchable(request)]):
            block = self.pool.find(key, request.token_ids(index * size, (index + 1) * size))
            if block is None:
                break
            self.pool.acquire(block)
            request.blocks.append(block)
        request.num_published_blocks = len(request.blocks)
        return len(request.blocks)

    def can_hold(self, request: Request, num_tokens: int) -> bool:
        """Whether its table can grow to `num_tokens` right now."""
        return self.num_blocks_for(num_tokens) - len(request.blocks) <= self.pool.num_free

    def grow(self, request: Request, num_tokens: int) -> list[KVCacheBlock] | None:
        """Make room for positions [0, num_tokens). Returns the new blocks; None and no change if there is no room."""
        missing = self.num_blocks_for(num_tokens) - len(request.blocks)
        if missing > self.pool.num_free:
            return None
        new = self.pool.allocate(missing) if missing > 0 else []
        request.blocks.extend(new)
        return new

    def publish_full(self, request: Request) -> list[tuple[BlockKey, KVCacheBlock]]:
        """Publish the blocks that are full by now; returns those that became findable through this request."""
        if not self.prefix_cache:
            return []
        size = self.block_size
        full = request.num_confirmed_tokens // size
        known = len(request.block_keys)
        if full > known:
            parent = request.block_keys[-1] if known else request.root_key
            request.block_keys += extend_keys(parent, request.token_ids(known * size, full * size), size)
        published = []
        for index in range(request.num_published_blocks, full):
            block, key = request.blocks[index], request.block_keys[index]
            if self.pool.publish(block, key, request.token_ids(index * size, (index + 1) * size)):
                published.append((key, block))
        request.num_published_blocks = max(request.num_published_blocks, full)
        return published

    def shrink(self, request: Request, num_blocks: int) -> None:
        """Return the blocks behind the first `num_blocks`."""
        self.pool.release(reversed(request.blocks[num_blocks:]))
        del request.blocks[num_blocks:]

    def free(self, request: Request) -> None:
        """Return all of its blocks; published ones stay findable until someone needs their room."""
        self.shrink(request, 0)
        request.num_published_blocks = 0
