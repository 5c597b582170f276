"""Owner of all device block ids: who uses them, which are free, which can be found by key.

Invariants, tested by `check`:
- a block is in the free list if and only if its ref count is 0;
- `_by_key[k].key == k`: a key leads to one block, and that block carries it;
- a block is in `_tails` if and only if it has `tail_of`: it is partly filled, and nobody writes in it; whoever takes it
  is its only writer;
- a block in use is never given to anyone else, and its key never changes, unless it is erased.
"""

from collections.abc import Callable, Iterable, Sequence

from cache_tiers.block_key import BlockKey, block_key
from engine.kv.block import FreeBlockQueue, KVCacheBlock
from engine.kv.tail_index import Match, TailIndex


class BlockPool:
    """`on_evict(key)` is told when what was found by `key` is given to a new owner, or forgotten."""

    def __init__(self, num_blocks: int, *, on_evict: Callable[[BlockKey], None] | None = None) -> None:
        self._blocks = [KVCacheBlock(i) for i in range(num_blocks)]
        self._free = FreeBlockQueue()
        for block in self._blocks:
            self._free.push_back(block)
        self._by_key: dict[BlockKey, KVCacheBlock] = {}
        self._tails: TailIndex[KVCacheBlock] = TailIndex()
        self._on_evict = on_evict
        self._num_evicted = 0

    @property
    def num_blocks(self) -> int:
        """All blocks."""
        return len(self._blocks)

    @property
    def num_free(self) -> int:
        """Blocks that nobody uses; some still hold a published prefix."""
        return len(self._free)

    @property
    def num_used(self) -> int:
        """Blocks with at least one user."""
        return len(self._blocks) - len(self._free)

    @property
    def num_cached(self) -> int:
        """Blocks that can be found by key."""
        return len(self._by_key)

    @property
    def num_evicted(self) -> int:
        """Blocks that could be found by key and were given to a new owner, since the start."""
        return self._num_evicted

    def allocate(self, count: int) -> list[KVCacheBlock]:
        """Take `count` blocks, the longest unused first. Raises IndexError if there are not enough."""
        if count > len(self._free):
            raise IndexError(f"{count} blocks asked for, {len(self._free)} free")
        return [self._take() for _ in range(count)]

    def find(self, key: BlockKey, token_ids: Sequence[int]) -> KVCacheBlock | None:
        """The block that is found by `key`, if its token ids are equal too."""
        block = self._by_key.get(key)
        return block if block is not None and block.token_ids == tuple(token_ids) else None

    def has(self, key: BlockKey) -> bool:
        """Whether a block is found by `key`: a hint, since its token ids are not compared."""
        return key in self._by_key

    def acquire(self, block: KVCacheBlock) -> None:
        """One more user."""
        if block.ref_count == 0:
            self._free.remove(block)
        block.ref_count += 1

    def release(self, blocks: Iterable[KVCacheBlock]) -> None:
        """One user less each. Give a request's blocks last to first: prefixes live longer than what follows them."""
        for block in blocks:
            assert block.ref_count > 0, f"{block!r} released by nobody's owner"
            block.ref_count -= 1
            if block.ref_count == 0:
                if block.key is None:
                    self._free.push_front(block)
                else:
                    self._free.push_back(block)

    def renew(self, chain: Sequence[BlockKey]) -> None:
        """What nobody uses of these is the last to be given to a new owner, and of that its beginning."""
        for key in reversed(chain):
            block = self._by_key.get(key)
            if block is not None and block.ref_count == 0:
                self._free.remove(block)
                self._free.push_back(block)

    def publish(self, block: KVCacheBlock, key: BlockKey, token_ids: tuple[int, ...]) -> bool:
        """Make a full block findable. False if another block already stands for the key."""
        if key in self._by_key:
            return False
        assert block.key is None
        assert block.ref_count > 0
        block.key, block.token_ids = key, token_ids
        self._by_key[key] = block
        return True

    def acquire_published(self, key: BlockKey) -> KVCacheBlock | None:
        """One more user of whatever block stands for `key`; None if none does."""
        block = self._by_key.get(key)
        if block is not None:
            self.acquire(block)
        return block

    def leave_tail(self, block: KVCacheBlock, parent: BlockKey, token_ids: tuple[int, ...]) -> bool:
        """Its only user, who is about to release it, filled it partly: the next one who follows `parent` may go on.
        False if another block already stands for the same tokens."""
        assert block.key is None
        assert block.ref_count == 1
        for former in self._tails.begun_by(parent, token_ids):
            if former.ref_count == 0:
                self._forget(former)
        key = block_key(parent, token_ids)
        if key in self._by_key:
            return False
        block.key, block.tail_of, block.token_ids = key, parent, token_ids
        self._by_key[key] = block
        self._tails.add(parent, token_ids, block)
        return True

    def find_tail(self, parent: BlockKey, known: tuple[int, ...]) -> Match[KVCacheBlock] | None:
        """The block that was partly filled behind `parent` and begins with most of the tokens `known`: whoever still
        uses it reads, to store or to copy it."""
        return self._tails.find(parent, known)

    def take_tail(self, block: KVCacheBlock) -> None:
        """Become the only user of a tail that nobody uses."""
        assert block.tail_of is not None
        assert block.ref_count == 0
        self._forget(block)
        self.acquire(block)

    def forget_free(self) -> None:
        """Nothing that nobody uses can be found any more."""
        for block in self._free:
            if block.key is not None:
                self._forget(block)

    def forget_all(self) -> None:
        """Nothing can be found any more. Whoever uses a block goes on with it."""
        self.erase(list(self._by_key))

    def erase(self, keys: Iterable[BlockKey]) -> None:
        """None of the keys leads to a block any more. Whoever uses one goes on with it."""
        for key in keys:
            block = self._by_key.get(key)
            if block is None:
                continue
            self._forget(block)
            if block.ref_count == 0:
                self._free.remove(block)
                self._free.push_front(block)

    def check(self) -> None:
        """Raise AssertionError if a block is both free and used, lost, or found under a wrong key."""
        free = list(self._free)
        assert len(free) == len(self._free), "the free list lost count"
        assert all(block.ref_count == 0 for block in free), "a used block is in the free list"
        used = sum(block.ref_count > 0 for block in self._blocks)
        assert len(free) + used == len(self._blocks), "a block is neither free nor used"
        assert all(block.key == key for key, block in self._by_key.items()), "a key leads to a wrong block"
        assert len(self._tails) == sum(b.tail_of is not None for b in self._blocks), "a tail cannot be found"
        assert len(self._by_key) == sum(b.key is not None for b in self._blocks), "a published block cannot be found"

    def _take(self) -> KVCacheBlock:
        block = self._free.pop_front()
        if block.key is not None:
            self._forget(block)
            self._num_evicted += 1
        block.ref_count = 1
        return block

    def _forget(self, block: KVCacheBlock) -> None:
        key = block.key
        assert key is not None
        del self._by_key[key]
        if block.tail_of is not None:
            self._tails.remove(block.tail_of, block.token_ids)
        block.key, block.tail_of, block.token_ids = None, None, ()
        if self._on_evict is not None:
            self._on_evict(key)
