"""Block tables of requests: prefix matching, growth, publication of full blocks, and release."""

from collections.abc import Callable, Iterator, Sequence

from cache_tiers.owners.block_key import extend_keys
from cache_tiers.transfer import BlockCopy
from engine.kv.block import KVCacheBlock
from engine.kv.block_pool import BlockPool
from engine.request.request import Request


class BlockManager:
    """Manager of block tables, which moves blocks between the pool and requests.

    block_size: tokens per block. block_nbytes: bytes per block. prefix_cache: whether blocks are published and matched.
    """

    def __init__(self, pool: BlockPool, block_size: int, block_nbytes: int, *, prefix_cache: bool) -> None:
        self.pool = pool
        self.block_size = block_size
        self.block_nbytes = block_nbytes
        self.prefix_cache = prefix_cache
        # Sources of copies in flight, by target block id. A target can have several: if its owner finishes, the block
        # can be the target of another copy before the first one is over.
        self._copied: dict[int, list[KVCacheBlock]] = {}
        self._on_partial: Callable[[Request, KVCacheBlock], None] = lambda _, __: None

    def watch_partials(self, on_partial: Callable[[Request, KVCacheBlock], None]) -> None:
        """Set the callback that receives each request that leaves a partly filled block, before others can take it."""
        self._on_partial = on_partial

    @property
    def num_copied(self) -> int:
        """Number of blocks that copies in flight within the device write to."""
        return len(self._copied)

    def num_blocks_for(self, num_tokens: int) -> int:
        """Return how many blocks hold `num_tokens` tokens."""
        return -(-num_tokens // self.block_size)

    def num_matchable(self, request: Request) -> int:
        """Return how many leading full blocks may be shared, without the one that the next token is written to."""
        return (request.num_tokens - 1) // self.block_size if self.prefix_cache else 0

    def num_loadable(self, request: Request) -> int:
        """Return how many full blocks may be loaded from the tiers below.

        Unlike matched blocks they may include the last one, since a loaded block is not shared until it is published.
        """
        return min(request.num_tokens // self.block_size, len(request.block_keys)) if self.prefix_cache else 0

    def num_on_device(self, request: Request) -> int:
        """Return how many blocks `match_prefix` would find now."""
        return sum(1 for _ in self._published(request))

    def match_prefix(self, request: Request) -> int:
        """Append the longest published prefix to an empty block table. Return its number of blocks."""
        assert not request.blocks
        for block in self._published(request):
            self.pool.acquire(block)
            request.blocks.append(block)
        request.num_published_blocks = len(request.blocks)
        return len(request.blocks)

    def _published(self, request: Request) -> Iterator[KVCacheBlock]:
        """Yield the longest run of leading blocks that the pool has."""
        size = self.block_size
        for index, key in enumerate(request.block_keys[: self.num_matchable(request)]):
            block = self.pool.find(key, request.token_ids(index * size, (index + 1) * size))
            if block is None:
                return
            yield block

    def claim_partial(self, request: Request) -> tuple[int, BlockCopy | None]:
        """Reuse the block after the full ones of the table, if part of its content is cached.

        A partial block that another request left is taken over if all of its tokens match, or if there is no room for a
        copy. A copy is made of a published block, of a partial block that matches only partly and may serve another
        request, and of a partial block that is being stored or copied. A request that keeps no KV never takes a partial
        block over.

        Return how many tokens need not be computed, and the copy to make, if any. At least one token of the request is
        always left to compute, for its logits.
        """
        full, size = len(request.blocks), self.block_size
        known = request.token_ids(full * size, min((full + 1) * size, request.num_tokens - 1))
        if not self.prefix_cache or not known:
            return 0, None
        source = self.find_last(request)
        if source is not None:
            return self._copy(request, source, len(known)) or (0, None)
        match = self.pool.find_partial(request.key_before(full), known)
        if match is None:
            return 0, None
        may_take = request.keeps_kv and match.partial.ref_count == 0
        if not (match.is_whole and may_take) and (copied := self._copy(request, match.partial, match.num_tokens)):
            return copied
        if not may_take:
            return 0, None
        self.pool.take_partial(match.partial)
        request.blocks.append(match.partial)
        return match.num_tokens, None

    def share(self, request: Request, source: Request, num_tokens: int) -> None:
        """Append the blocks of a sibling's first `num_tokens` tokens to the table of `request`.

        Unpublished blocks are shared too. Copy a partly filled last block with `own_last` before writing to it.
        """
        for block in source.blocks[len(request.blocks) : self.num_blocks_for(num_tokens)]:
            self.pool.acquire(block)
            request.blocks.append(block)
        published = min(source.num_published_blocks, num_tokens // self.block_size)
        request.num_published_blocks = max(request.num_published_blocks, published)

    def shares_last(self, request: Request) -> bool:
        """Return whether the next token of `request` would be written to a block that is shared or published."""
        if request.num_computed_tokens == len(request.blocks) * self.block_size:
            return False
        return request.blocks[-1].ref_count > 1 or request.blocks[-1].key is not None

    def own_last(self, request: Request) -> BlockCopy:
        """Replace the shared last block of `request` with a copy, and return the copy to make. There must be room."""
        shared = request.blocks.pop()
        # Copies of one step run in any order, so a block that is itself a copy of this step is copied from its origin.
        copied = self._copy(request, self._copied.get(shared.block_id, [shared])[-1], 0)
        assert copied is not None, "no block was free for a copy"
        self.pool.release([shared])
        return copied[1]

    def find_last(self, request: Request) -> KVCacheBlock | None:
        """Return the published block of the tokens after the table, if these are the last ones and fill a block.

        The request computes its last token again, which writes to the block, so the block must be copied. None if there
        is no such block.
        """
        full, size = len(request.blocks), self.block_size
        if full != self.num_matchable(request) or full >= len(request.block_keys):
            return None
        return self.pool.find(request.block_keys[full], request.token_ids(full * size, (full + 1) * size))

    def _copy(self, request: Request, source: KVCacheBlock, count: int) -> tuple[int, BlockCopy] | None:
        """Allocate a copy of `source`, which stays pinned until `end_copies`. None if `request` would lack the room."""
        self.pool.acquire(source)
        if self.pool.num_free < self.num_missing(request):
            self.pool.release([source])
            return None
        [target] = self.pool.allocate(1, request.owner)
        request.blocks.append(target)
        self._copied.setdefault(target.block_id, []).append(source)
        return count, BlockCopy(source.block_id, target.block_id)

    def end_copies(self, copies: Sequence[BlockCopy]) -> None:
        """Unpin the sources of copies whose step has ended."""
        for copy in copies:
            sources = self._copied[copy.target_id]
            self.pool.release([sources.pop(0)])
            if not sources:
                del self._copied[copy.target_id]

    def num_missing(self, request: Request) -> int:
        """Return how many blocks the table lacks for the known tokens of `request`."""
        return max(0, self.num_blocks_for(request.num_tokens) - len(request.blocks))

    def grow(self, request: Request, num_tokens: int) -> list[KVCacheBlock] | None:
        """Allocate blocks for positions [0, num_tokens). Return the new ones, an empty list if the table has room.

        Return None, without allocating any, if too few blocks are free.
        """
        missing = self.num_blocks_for(num_tokens) - len(request.blocks)
        if missing <= 0:
            return []
        if missing > self.pool.num_free:
            return None
        new = self.pool.allocate(missing, request.owner)
        request.blocks.extend(new)
        return new

    def publish_full(self, request: Request) -> list[int]:
        """Publish the blocks that have become full. Return the indices of those that were not published before."""
        if not self._leaves_kv(request):
            return []
        size = self.block_size
        full = request.num_confirmed_tokens // size
        known = len(request.block_keys)
        if full > known:
            request.block_keys += extend_keys(
                request.key_before(known), request.token_ids(known * size, full * size), size
            )
        published = [
            index
            for index in range(request.num_published_blocks, full)
            if self.pool.publish(
                request.blocks[index], request.block_keys[index], request.token_ids(index * size, (index + 1) * size)
            )
        ]
        request.num_published_blocks = max(request.num_published_blocks, full)
        return published

    def _leaves_kv(self, request: Request) -> bool:
        return self.prefix_cache and request.keeps_kv

    def shrink(self, request: Request, num_blocks: int) -> None:
        """Release all blocks after the first `num_blocks`."""
        self.pool.release(reversed(request.blocks[num_blocks:]))
        del request.blocks[num_blocks:]

    def free(self, request: Request) -> None:
        """Release all blocks of `request`. Published ones and the partial block can be found until they are evicted."""
        full = request.num_confirmed_tokens // self.block_size
        partial_ids = request.token_ids(full * self.block_size, request.num_confirmed_tokens)
        if self._leaves_kv(request) and partial_ids and full < len(request.blocks) and full <= len(request.block_keys):
            block = request.blocks[full]
            # Until a copy into the block has ended, the block cannot be found: the copy may fail.
            unshared = block.key is None and block.ref_count == 1 and block.block_id not in self._copied
            if unshared and self.pool.publish_partial(block, request.key_before(full), partial_ids):
                self._on_partial(request, block)
        self.shrink(request, 0)
        request.num_published_blocks = 0
