"""Pool of device blocks: reference counts, free blocks, and blocks that can be found by key.

Invariants, tested by `check`:
- a block is free if and only if its ref count is 0; a free block is either empty or in the queue of the owner that its
  key names;
- `_by_key[k].key == k`: a key leads to one block, and that block carries the key;
- a block is in `_partials` if and only if it has `partial_of`: it is partly filled and has no writer, and the request
  that takes it becomes its only writer;
- a block in use is never given to another owner, and its key never changes, except by being erased;
- a block is charged to exactly one owner if it is in use or can be found, and to none otherwise.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from cache_tiers.leak_check import PIECE, LeakCheck
from cache_tiers.owners.block_key import BlockKey, Owner, block_key, owner_of
from cache_tiers.owners.owners import Owners
from cache_tiers.owners.shares import MemoryShares
from engine.kv.block import EvictionLine, FreeBlockQueue, KVCacheBlock
from engine.kv.partial_index import Match, PartialIndex, packed


class BlockPool:
    """Device blocks, shared fairly by their owners (`MemoryShares`).

    owners: names and weights of the possible owners.
    on_evict: called with a key when its block is evicted or erased.
    """

    def __init__(
        self,
        num_blocks: int,
        owners: Owners | None = None,
        *,
        on_evict: Callable[[BlockKey], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._blocks = [KVCacheBlock(i) for i in range(num_blocks)]
        self._empty = FreeBlockQueue()
        for block in self._blocks:
            self._empty.push_back(block)
        self._unused: dict[Owner, EvictionLine] = {}
        self._num_free = num_blocks
        self.owners = owners if owners is not None else Owners()
        self._shares = MemoryShares(self.owners, clock=clock)
        self._by_key: dict[BlockKey, KVCacheBlock] = {}
        self._partials: PartialIndex[KVCacheBlock] = PartialIndex()
        self._on_evict = on_evict
        self._num_evicted = 0
        self._num_lost = 0
        self._num_unsaved = 0

    @property
    def num_blocks(self) -> int:
        """Number of all blocks."""
        return len(self._blocks)

    @property
    def num_free(self) -> int:
        """Number of blocks that are not in use; some of them can still be found by key."""
        return self._num_free

    @property
    def num_used(self) -> int:
        """Number of blocks in use."""
        return len(self._blocks) - self._num_free

    @property
    def num_cached(self) -> int:
        """Number of blocks that can be found by key."""
        return len(self._by_key)

    @property
    def num_evicted(self) -> int:
        """Number of blocks evicted since the start: found by key until they were allocated again."""
        return self._num_evicted

    @property
    def num_lost(self) -> int:
        """Number of blocks evicted, since the start, while they waited to be copied to the tier below."""
        return self._num_lost

    @property
    def num_unsaved(self) -> int:
        """Number of blocks that wait to be copied to the tier below."""
        return self._num_unsaved

    @property
    def held(self) -> Mapping[Owner, int]:
        """Number of blocks charged to each owner."""
        return self._shares.held

    def num_losses(self, owner: Owner, count: int) -> int:
        """Count the unsaved blocks of `owner` that would be evicted if it allocated `count` blocks now."""
        line = self._unused.get(owner)
        if line is None or not line.num_unsaved:
            return 0
        loser = self._shares.first()
        if loser is not None and self._shares.level(loser) > self._shares.level(owner):
            return 0
        return min(line.num_unsaved, max(0, count - len(self._empty) - line.num_saved))

    def num_to_save(self, reserve: int) -> int:
        """Count the unsaved blocks to copy to the tier below so that `reserve` blocks can be allocated without loss.

        Only blocks of the owner whose blocks are evicted next count: an owner that holds less may take them at any
        time.
        """
        loser = self._shares.first()
        if loser is None:
            return 0
        line = self._unused[loser]
        return min(line.num_unsaved, max(0, reserve - len(self._empty) - line.num_saved))

    def mark_unsaved(self, block: KVCacheBlock) -> None:
        """Mark a published block in use as unsaved: until `mark_saved`, its owner's saved blocks are evicted first."""
        assert block.key is not None
        assert block.ref_count > 0
        self._num_unsaved += not block.is_unsaved
        block.is_unsaved = True

    def mark_saved(self, key: BlockKey) -> None:
        """Mark the block of `key` as saved: it is being copied to the tier below, or is there."""
        block = self._by_key[key]
        self._num_unsaved -= block.is_unsaved
        if block.ref_count == 0:
            self._leave_queue(block)
            block.is_unsaved = False
            self._join_queue(block)
        block.is_unsaved = False

    def allocate(self, count: int, owner: Owner) -> list[KVCacheBlock]:
        """Allocate `count` blocks for `owner`. Raise IndexError if there are not enough free ones.

        Empty blocks are taken first. Then blocks are evicted, least recently used first, from the owner that holds most
        for its weight.
        """
        if count > self._num_free:
            raise IndexError(f"{count} blocks requested, {self._num_free} free")
        return [self._take(owner) for _ in range(count)]

    def find(self, key: BlockKey, token_ids: Sequence[int]) -> KVCacheBlock | None:
        """Return the block of `key` if its token ids are equal too, else None."""
        block = self._by_key.get(key)
        return block if block is not None and block.token_ids == tuple(token_ids) else None

    def has(self, key: BlockKey) -> bool:
        """Return whether there is a block of `key`. This is a hint, since token ids are not compared."""
        return key in self._by_key

    def acquire(self, block: KVCacheBlock) -> None:
        """Add a reference to a block that is in use or can be found."""
        assert block.owner is not None
        self._shares.use(block.owner)
        if block.ref_count == 0:
            self._leave_queue(block)
            self._num_free -= 1
        block.ref_count += 1

    def release(self, blocks: Iterable[KVCacheBlock]) -> None:
        """Drop a reference to each block. Pass a request's blocks last to first, so that prefixes are evicted last."""
        for block in blocks:
            assert block.ref_count > 0, f"{block!r} released without a reference"
            block.ref_count -= 1
            if block.ref_count == 0:
                self._num_free += 1
                if block.key is None:
                    self._empty_out(block)
                else:
                    self._join_queue(block)

    def renew(self, chain: Sequence[BlockKey]) -> None:
        """Mark the free blocks of `chain` as recently used. The end of the chain is evicted before its beginning."""
        for key in reversed(chain):
            block = self._by_key.get(key)
            if block is not None and block.ref_count == 0:
                self._leave_queue(block)
                self._join_queue(block)
                self._shares.use(owner_of(key))

    def publish(self, block: KVCacheBlock, key: BlockKey, token_ids: tuple[int, ...]) -> bool:
        """Publish a full block under `key`. Return False if the key already has another block."""
        if key in self._by_key:
            return False
        assert block.key is None
        assert block.ref_count > 0
        self._name(block, key, token_ids)
        return True

    def acquire_published(self, key: BlockKey) -> KVCacheBlock | None:
        """Add a reference to the block of `key` and return it; None if there is none."""
        block = self._by_key.get(key)
        if block is not None:
            self.acquire(block)
        return block

    def publish_partial(self, block: KVCacheBlock, parent: BlockKey, token_ids: tuple[int, ...]) -> bool:
        """Publish a partly filled block after `parent`, so that another request may continue in it.

        The only user of the block calls this before releasing it. Free partial blocks of `parent` whose tokens are a
        prefix of `token_ids` are dropped. Return False if another block already holds the same tokens.
        """
        assert block.key is None
        assert block.ref_count == 1
        ids = packed(token_ids)
        for former in self._partials.begun_by(parent, ids):
            if former.ref_count == 0:
                self._forget(former)
        key = block_key(parent, token_ids)
        if key in self._by_key:
            return False
        self._name(block, key, token_ids)
        block.partial_of = parent
        self._partials.add(parent, ids, block)
        return True

    def find_partial(self, parent: BlockKey, known: tuple[int, ...]) -> Match[KVCacheBlock] | None:
        """Return the partial block of `parent` with the longest common prefix with `known`; None if none has one.

        A partial block that is in use is only being read, to store or to copy it.
        """
        return self._partials.find(parent, packed(known))

    def take_partial(self, block: KVCacheBlock) -> None:
        """Take a free partial block out of the cache for a request that continues to write in it."""
        assert block.partial_of is not None
        assert block.ref_count == 0
        self.acquire(block)
        self._forget(block)

    def forget_free(self) -> None:
        """Erase the keys of all free blocks."""
        self.erase([key for key, block in self._by_key.items() if block.ref_count == 0])

    def forget_all(self) -> None:
        """Erase all keys. Requests that use a block keep it."""
        self.erase(list(self._by_key))

    def erase(self, keys: Iterable[BlockKey]) -> None:
        """Erase `keys`, so that their blocks can no longer be found. Requests that use a block keep it."""
        for key in keys:
            block = self._by_key.get(key)
            if block is not None:
                self._forget(block)

    def leak_check(self) -> LeakCheck:
        """Raise AssertionError if a block is both free and used, lost, found under a wrong key, or charged wrongly."""
        yield from self._check_blocks()
        yield from self._check_queues()

    def _check_blocks(self) -> LeakCheck:
        used = published = partial = unsaved = 0
        charged: Counter[Owner | None] = Counter()
        for visited, block in enumerate(self._blocks, 1):
            used += block.ref_count > 0
            unsaved += block.is_unsaved
            partial += block.partial_of is not None
            if block.key is not None:
                published += 1
                assert self._by_key.get(block.key) is block, "a published block is not indexed"
            else:
                assert not block.is_unsaved, "an unsaved block has no key"
            if block.ref_count or block.key is not None:
                charged[block.owner] += 1
            if visited % PIECE == 0:
                yield 0.0
        assert used == self.num_used, "a block is neither free nor used"
        assert published == len(self._by_key), "a key maps to the wrong block"
        assert partial == len(self._partials), "the index of partial blocks is incomplete"
        assert unsaved == self._num_unsaved, "the count of unsaved blocks is wrong"
        for visited, (owner, count) in enumerate(self._shares.held.items(), 1):
            assert charged.pop(owner, 0) == count, "an owner is charged for blocks that it does not hold"
            if visited % PIECE == 0:
                yield 0.0
        assert not charged, "an owner is not charged for blocks that it holds"

    def _check_queues(self) -> LeakCheck:
        free = 0
        for block in self._empty:
            assert block.ref_count == 0, "a free block still has references"
            assert block.key is None and block.owner is None, "an empty block has a key or an owner"  # noqa: PT018
            free += 1
            if free % PIECE == 0:
                yield 0.0
        for owner, line in self._unused.items():
            assert len(line), "an owner has an empty queue"
            for place, block in enumerate(line):
                assert block.ref_count == 0, "a free block still has references"
                assert block.key is not None, "a block in a queue has no key"
                assert owner_of(block.key) == owner, "a block is in another owner's queue"
                assert block.is_unsaved == (place >= line.num_saved), "a queue miscounts its unsaved blocks"
                free += 1
                if free % PIECE == 0:
                    yield 0.0
        assert free == self._num_free, "the count of free blocks is wrong"

    def _take(self, owner: Owner) -> KVCacheBlock:
        # Charge the owner first: between owners that hold the same amount, the one that allocates evicts its own block.
        self._shares.take(owner)
        if not len(self._empty):
            loser = self._shares.first()
            assert loser is not None
            victim = self._unused[loser].first
            self._num_lost += victim.is_unsaved
            self._num_evicted += 1
            self._forget(victim)
        block = self._empty.pop_front()
        block.ref_count, block.owner = 1, owner
        self._num_free -= 1
        return block

    def _name(self, block: KVCacheBlock, key: BlockKey, token_ids: tuple[int, ...]) -> None:
        """Make a used block findable by `key`. From now on the block is charged to the owner that the key names."""
        owner = owner_of(key)
        if block.owner != owner:
            assert block.owner is not None
            self._shares.give(block.owner)
            self._shares.take(owner)
            block.owner = owner
        block.key, block.token_ids = key, token_ids
        self._by_key[key] = block

    def _forget(self, block: KVCacheBlock) -> None:
        key = block.key
        assert key is not None
        if block.ref_count == 0:
            self._leave_queue(block)
        del self._by_key[key]
        if block.partial_of is not None:
            self._partials.remove(block.partial_of, packed(block.token_ids))
        self._num_unsaved -= block.is_unsaved
        block.key, block.partial_of, block.token_ids, block.is_unsaved = None, None, (), False
        if block.ref_count == 0:
            self._empty_out(block)
        if self._on_evict is not None:
            self._on_evict(key)

    def _empty_out(self, block: KVCacheBlock) -> None:
        """Move a free block that cannot be found to the front of the empty blocks, to be allocated next."""
        assert block.owner is not None
        self._shares.give(block.owner)
        block.owner = None
        self._empty.push_front(block)

    def _join_queue(self, block: KVCacheBlock) -> None:
        """Append a free block that can be found to its owner's eviction line."""
        assert block.owner is not None
        queue = self._unused.get(block.owner)
        if queue is None:
            queue = self._unused[block.owner] = EvictionLine()
            self._shares.enter(block.owner)
        queue.push_back(block)

    def _leave_queue(self, block: KVCacheBlock) -> None:
        assert block.owner is not None
        queue = self._unused[block.owner]
        queue.remove(block)
        if not len(queue):
            del self._unused[block.owner]
            self._shares.leave(block.owner)
