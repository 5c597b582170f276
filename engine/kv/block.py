"""One device block, the list of free ones in the order in which they are given away, and what two have in common."""

from collections.abc import Iterator, Sequence

from cache_tiers.block_key import BlockKey, Owner


class KVCacheBlock:
    """A block id with its bookkeeping; the bytes lie in the device pool.

    ref_count: requests and copies that use it; at 0 it stands in the free list, still findable by `key`.
    key: set once the block is full and published, or left behind partly filled.
    owner: who is charged with it; None while it is free and cannot be found.
    tail_of: set in the second case: the key of the block before it, so that a request can go on in it.
    token_ids: whose KV it holds, in either case.
    is_unsaved: whether it waits to be copied to the tier below.
    """

    __slots__ = (
        "block_id",
        "is_unsaved",
        "key",
        "next_free",
        "owner",
        "prev_free",
        "ref_count",
        "tail_of",
        "token_ids",
    )

    def __init__(self, block_id: int) -> None:
        self.block_id = block_id
        self.ref_count = 0
        self.key: BlockKey | None = None
        self.owner: Owner | None = None
        self.tail_of: BlockKey | None = None
        self.token_ids: tuple[int, ...] = ()
        self.is_unsaved = False
        self.prev_free: KVCacheBlock | None = None
        self.next_free: KVCacheBlock | None = None

    def __repr__(self) -> str:
        return f"KVCacheBlock({self.block_id}, refs={self.ref_count}, key={self.key.hex()[:8] if self.key else None})"


class FreeBlockQueue:
    """Free blocks, oldest first. Links live in the blocks, so that a hit in the middle leaves in O(1)."""

    def __init__(self) -> None:
        self._head = KVCacheBlock(-1)
        self._tail = KVCacheBlock(-1)
        self._head.next_free, self._tail.prev_free = self._tail, self._head
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[KVCacheBlock]:
        block = self._head.next_free
        while block is not None and block is not self._tail:
            yield block
            block = block.next_free

    def push_back(self, block: KVCacheBlock) -> None:
        """Given away last."""
        assert self._tail.prev_free is not None
        self._insert_after(self._tail.prev_free, block)

    def push_front(self, block: KVCacheBlock) -> None:
        """Given away next."""
        self._insert_after(self._head, block)

    @property
    def first(self) -> KVCacheBlock:
        """The oldest. Raises IndexError when empty."""
        block = self._head.next_free
        if block is None or block is self._tail:
            raise IndexError("no free block")
        return block

    def pop_front(self) -> KVCacheBlock:
        """Take out the oldest and return it. Raises IndexError when empty."""
        block = self.first
        self.remove(block)
        return block

    def remove(self, block: KVCacheBlock) -> None:
        """Take a block out, wherever it stands."""
        before, after = block.prev_free, block.next_free
        assert before is not None
        assert after is not None
        before.next_free, after.prev_free = after, before
        block.prev_free = block.next_free = None
        self._length -= 1

    def _insert_after(self, before: KVCacheBlock, block: KVCacheBlock) -> None:
        after = before.next_free
        assert after is not None
        block.prev_free, block.next_free = before, after
        before.next_free = after.prev_free = block
        self._length += 1


class EvictionLine:
    """Free blocks of one owner that can be found, in the order in which it gives them up.

    Blocks that wait to be copied to the tier below come last: evicting one loses it for good.
    """

    def __init__(self) -> None:
        self._saved = FreeBlockQueue()
        self._unsaved = FreeBlockQueue()

    def __len__(self) -> int:
        return len(self._saved) + len(self._unsaved)

    def __iter__(self) -> Iterator[KVCacheBlock]:
        yield from self._saved
        yield from self._unsaved

    @property
    def num_saved(self) -> int:
        """Blocks that can go without loss."""
        return len(self._saved)

    @property
    def num_unsaved(self) -> int:
        """Blocks that wait to be copied."""
        return len(self._unsaved)

    @property
    def first(self) -> KVCacheBlock:
        """The block to give up next. Raises IndexError when empty."""
        return self._saved.first if len(self._saved) else self._unsaved.first

    def push_back(self, block: KVCacheBlock) -> None:
        """Add a block as the last of its kind."""
        self._queue_of(block).push_back(block)

    def remove(self, block: KVCacheBlock) -> None:
        """Take a block out, wherever it stands."""
        self._queue_of(block).remove(block)

    def _queue_of(self, block: KVCacheBlock) -> FreeBlockQueue:
        return self._unsaved if block.is_unsaved else self._saved


def num_equal(one: Sequence[int], other: Sequence[int]) -> int:
    """Length of the common beginning: tokens whose KV is the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
