"""Device blocks, queues of free blocks in eviction order, and the common prefix of two token sequences."""

from collections.abc import Iterator, Sequence

from cache_tiers.owners.block_key import BlockKey, Owner


class KVCacheBlock:
    """A block id and its bookkeeping; the bytes are in the device pool.

    ref_count: requests and copies that use the block; at 0 the block is free, but can still be found by `key`.
    key: set when the block is published because it is full, or left partly filled as a partial block; else None.
    owner: the owner charged for the block; None while the block is free and cannot be found.
    partial_of: key of the block before a partial block, so that a request can continue in the partial block; None for
    other blocks.
    token_ids: tokens whose KV the block holds; set together with `key`.
    is_unsaved: whether the block waits to be copied to the tier below.
    """

    __slots__ = (
        "block_id",
        "is_unsaved",
        "key",
        "next_free",
        "owner",
        "partial_of",
        "prev_free",
        "ref_count",
        "token_ids",
    )

    def __init__(self, block_id: int) -> None:
        self.block_id = block_id
        self.ref_count = 0
        self.key: BlockKey | None = None
        self.owner: Owner | None = None
        self.partial_of: BlockKey | None = None
        self.token_ids: tuple[int, ...] = ()
        self.is_unsaved = False
        self.prev_free: KVCacheBlock | None = None
        self.next_free: KVCacheBlock | None = None

    def __repr__(self) -> str:
        return f"KVCacheBlock({self.block_id}, refs={self.ref_count}, key={self.key.hex()[:8] if self.key else None})"


class FreeBlockQueue:
    """Free blocks, oldest first. The links are in the blocks, so that a block anywhere is removed in O(1).

    An empty queue has no links, so that it is freed as soon as it is dropped.
    """

    def __init__(self) -> None:
        self._first: KVCacheBlock | None = None
        self._last: KVCacheBlock | None = None
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[KVCacheBlock]:
        block = self._first
        while block is not None:
            yield block
            block = block.next_free

    def push_back(self, block: KVCacheBlock) -> None:
        """Add a block to be allocated last."""
        self._link(self._last, block)
        self._link(block, None)
        self._length += 1

    def push_front(self, block: KVCacheBlock) -> None:
        """Add a block to be allocated next."""
        self._link(block, self._first)
        self._link(None, block)
        self._length += 1

    @property
    def first(self) -> KVCacheBlock:
        """The oldest block. Raise IndexError if the queue is empty."""
        if self._first is None:
            raise IndexError("no free block")
        return self._first

    def pop_front(self) -> KVCacheBlock:
        """Remove and return the oldest block. Raise IndexError if the queue is empty."""
        block = self.first
        self.remove(block)
        return block

    def remove(self, block: KVCacheBlock) -> None:
        """Remove a block, wherever it is in the queue."""
        self._link(block.prev_free, block.next_free)
        block.prev_free = block.next_free = None
        self._length -= 1

    def _link(self, before: KVCacheBlock | None, after: KVCacheBlock | None) -> None:
        """Have `after` follow `before`. None stands for the place before the first block or after the last one."""
        if before is None:
            self._first = after
        else:
            before.next_free = after
        if after is None:
            self._last = before
        else:
            after.prev_free = before


class EvictionLine:
    """Free blocks of one owner that can still be found, in eviction order.

    Blocks that wait to be copied to the tier below come last, because evicting one loses its KV.
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
        """Number of blocks that can be evicted without loss."""
        return len(self._saved)

    @property
    def num_unsaved(self) -> int:
        """Number of blocks that wait to be copied to the tier below."""
        return len(self._unsaved)

    @property
    def first(self) -> KVCacheBlock:
        """The block to evict next. Raise IndexError if there is none."""
        return self._saved.first if len(self._saved) else self._unsaved.first

    def push_back(self, block: KVCacheBlock) -> None:
        """Add a block, to be evicted last among the saved or the unsaved ones."""
        self._queue_of(block).push_back(block)

    def remove(self, block: KVCacheBlock) -> None:
        """Remove a block, wherever it is."""
        self._queue_of(block).remove(block)

    def _queue_of(self, block: KVCacheBlock) -> FreeBlockQueue:
        return self._unsaved if block.is_unsaved else self._saved


def common_prefix_len(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the length of the common prefix of two token sequences, for which the KV is the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
