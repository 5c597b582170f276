"""Block tables of requests: prefix match, growth, publication of what fills, return."""

from collections.abc import Callable, Iterator, Sequence

from cache_tiers.block_key import extend_keys
from cache_tiers.transfer import BlockCopy
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
        # By their targets: one whose owner ended can be written again before the first copy is over.
        self._copied: dict[int, list[KVCacheBlock]] = {}
        self._on_tail: Callable[[KVCacheBlock], None] = lambda _: None

    def watch_tails(self, on_tail: Callable[[KVCacheBlock], None]) -> None:
        """`on_tail` is told of each partly filled block that is left behind, before anybody can take it."""
        self._on_tail = on_tail

    @property
    def num_copied(self) -> int:
        """Copies within the device that are under way."""
        return len(self._copied)

    def num_blocks_for(self, num_tokens: int) -> int:
        """Blocks that hold `num_tokens` tokens."""
        return -(-num_tokens // self.block_size)

    def num_matchable(self, request: Request) -> int:
        """Full blocks that may be shared: the one in which its next token is written is its own."""
        return (request.num_tokens - 1) // self.block_size if self.prefix_cache else 0

    def num_loadable(self, request: Request) -> int:
        """Full blocks that may be brought from below: they are its own until they are published."""
        return min(request.num_tokens // self.block_size, len(request.block_keys)) if self.prefix_cache else 0

    def num_on_device(self, request: Request) -> int:
        """Blocks that `match_prefix` would find now."""
        return sum(1 for _ in self._published(request))

    def match_prefix(self, request: Request) -> int:
        """Take the longest published prefix into an empty block table; returns how many blocks."""
        assert not request.blocks
        for block in self._published(request):
            self.pool.acquire(block)
            request.blocks.append(block)
        request.num_published_blocks = len(request.blocks)
        return len(request.blocks)

    def _published(self, request: Request) -> Iterator[KVCacheBlock]:
        """The longest run of its first blocks that the pool has."""
        size = self.block_size
        for index, key in enumerate(request.block_keys[: self.num_matchable(request)]):
            block = self.pool.find(key, request.token_ids(index * size, (index + 1) * size))
            if block is None:
                return
            yield block

    def claim_tail(self, request: Request) -> tuple[int, BlockCopy | None]:
        """Continue in the block behind its full ones: one that another request left partly filled is taken over if all
        of it is known, or if there is no room for a copy; of a published one, of one that somebody else may go on from,
        and of one that is just being stored, a copy is made, and always for a request that keeps no KV. Returns the
        tokens that need no computing, and the copy.

        At least one token of the request is always computed, for its logits.
        """
        full, size = len(request.blocks), self.block_size
        known = request.token_ids(full * size, min((full + 1) * size, request.num_tokens - 1))
        if not self.prefix_cache or not known:
            return 0, None
        source = self.find_last(request)
        if source is not None:
            return self._copy(request, source, len(known)) or (0, None)
        match = self.pool.find_tail(request.key_before(full), known)
        if match is None:
            return 0, None
        may_take = request.keeps_kv and match.tail.ref_count == 0
        if not (match.is_whole and may_take) and (copied := self._copy(request, match.tail, match.num_tokens)):
            return copied
        if not may_take:
            return 0, None
        self.pool.take_tail(match.tail)
        request.blocks.append(match.tail)
        return match.num_tokens, None

    def share(self, request: Request, source: Request, num_tokens: int) -> None:
        """Take what `source`, another answer to the same prompt, has of its first `num_tokens` behind the table of
        `request`: also blocks that nobody finds. The last one, if it is filled partly, is to be copied: `own_last`."""
        for block in source.blocks[len(request.blocks) : self.num_blocks_for(num_tokens)]:
            self.pool.acquire(block)
            request.blocks.append(block)
        published = min(source.num_published_blocks, num_tokens // self.block_size)
        request.num_published_blocks = max(request.num_published_blocks, published)

    def shares_last(self, request: Request) -> bool:
        """Whether its next token is to be written in a block of its table that is not its own alone."""
        if request.num_computed_tokens == len(request.blocks) * self.block_size:
            return False
        return request.blocks[-1].ref_count > 1 or request.blocks[-1].key is not None

    def own_last(self, request: Request) -> BlockCopy:
        """A copy takes the place of the block that it shares; there must be room for it."""
        shared = request.blocks.pop()
        # Copies of one step are made in any order: of what is itself copied in this step, the origin is taken.
        copied = self._copy(request, self._copied.get(shared.block_id, [shared])[-1], 0)
        assert copied is not None, "there was no room for a copy"
        self.pool.release([shared])
        return copied[1]

    def find_last(self, request: Request) -> KVCacheBlock | None:
        """The published block of the tokens behind its table, if they are its last ones and fill it: to be copied."""
        full, size = len(request.blocks), self.block_size
        if full != self.num_matchable(request) or full >= len(request.block_keys):
            return None
        return self.pool.find(request.block_keys[full], request.token_ids(full * size, (full + 1) * size))

    def _copy(self, request: Request, source: KVCacheBlock, count: int) -> tuple[int, BlockCopy] | None:
        """`source` is pinned until `end_copies`: None if the request would lack the room."""
        self.pool.acquire(source)
        if self.pool.num_free < self.num_missing(request):
            self.pool.release([source])
            return None
        [target] = self.pool.allocate(1, request.owner)
        request.blocks.append(target)
        self._copied.setdefault(target.block_id, []).append(source)
        return count, BlockCopy(source.block_id, target.block_id)

    def end_copies(self, copies: Sequence[BlockCopy]) -> None:
        """The step that made these copies is over."""
        for copy in copies:
            sources = self._copied[copy.target_id]
            self.pool.release([sources.pop(0)])
            if not sources:
                del self._copied[copy.target_id]

    def num_missing(self, request: Request) -> int:
        """Blocks that its table lacks for the tokens that it has."""
        return max(0, self.num_blocks_for(request.num_tokens) - len(request.blocks))

    def grow(self, request: Request, num_tokens: int) -> list[KVCacheBlock] | None:
        """Make room for positions [0, num_tokens). Returns the new blocks; None and no change if there is no room."""
        missing = self.num_blocks_for(num_tokens) - len(request.blocks)
        if missing <= 0:
            return []
        if missing > self.pool.num_free:
            return None
        new = self.pool.allocate(missing, request.owner)
        request.blocks.extend(new)
        return new

    def publish_full(self, request: Request) -> list[int]:
        """Publish the blocks that are full by now; returns the indices of those that are found through this request."""
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
        """Return the blocks behind the first `num_blocks`."""
        self.pool.release(reversed(request.blocks[num_blocks:]))
        del request.blocks[num_blocks:]

    def free(self, request: Request) -> None:
        """Return all of its blocks; published ones and the tail stay findable until someone needs their room."""
        full = request.num_confirmed_tokens // self.block_size
        tail_ids = request.token_ids(full * self.block_size, request.num_confirmed_tokens)
        if self._leaves_kv(request) and tail_ids and full < len(request.blocks) and full <= len(request.block_keys):
            block = request.blocks[full]
            unshared = block.key is None and block.ref_count == 1
            if unshared and self.pool.leave_tail(block, request.key_before(full), tail_ids):
                self._on_tail(block)
        self.shrink(request, 0)
        request.num_published_blocks = 0
