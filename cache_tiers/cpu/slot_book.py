"""Who holds which slot of the CPU tier: one writer, or readers. LMCache keeps the locks; this keeps their owners."""

from collections import Counter
from collections.abc import Collection, Sequence

from cache_tiers.block_key import BlockKey


class SlotBook:
    """Every slot that was given out is taken back exactly once; ValueError otherwise."""

    def __init__(self) -> None:
        self._reserved: set[BlockKey] = set()
        self._locked: Counter[BlockKey] = Counter()

    def reserve(self, key: BlockKey) -> None:
        """A writer got the slot of `key`."""
        self._reserved.add(key)

    def end_write(self, keys: Collection[BlockKey]) -> None:
        """The writer is done with these."""
        if not self._reserved.issuperset(keys):
            raise ValueError("a block was committed or discarded that is not reserved")
        self._reserved.difference_update(keys)

    def lock(self, keys: Sequence[BlockKey]) -> None:
        """A reader got one lock on each."""
        self._locked.update(keys)

    def release(self, keys: Sequence[BlockKey]) -> None:
        """A reader gives one lock on each back."""
        given = Counter(keys)
        if not given <= self._locked:
            raise ValueError("a block was released that is not locked")
        self._locked -= given

    def take_back(self) -> tuple[list[BlockKey], list[BlockKey]]:
        """End all writes and reads. Returns the keys that were reserved, and those that were locked, one for each
        lock."""
        reserved, locked = list(self._reserved), list(self._locked.elements())
        self._reserved.clear()
        self._locked.clear()
        return reserved, locked

    def check(self) -> None:
        """Raise AssertionError unless everything came back."""
        assert not self._reserved, f"{len(self._reserved)} slots are reserved and have no writer"
        assert not self._locked, f"{self._locked.total()} read locks have no reader"
