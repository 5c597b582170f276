"""Owners of the CPU tier's slots: each slot has one writer or some readers. The memory holds the locks themselves."""

from collections import Counter
from collections.abc import Collection, Sequence

from cache_tiers.owners.block_key import BlockKey


class SlotBook:
    """Reservations and read locks that have been handed out. Each must be returned exactly once, else ValueError."""

    def __init__(self) -> None:
        self._reserved: set[BlockKey] = set()
        self._locked: Counter[BlockKey] = Counter()

    def reserve(self, key: BlockKey) -> None:
        """Record that a writer reserved the slot of `key`."""
        self._reserved.add(key)

    def is_reserved(self, key: BlockKey) -> bool:
        """Return whether the slot of `key` has a writer."""
        return key in self._reserved

    def end_write(self, keys: Collection[BlockKey]) -> None:
        """Record that the writer of `keys` committed or discarded their slots."""
        if not self._reserved.issuperset(keys):
            raise ValueError("a block that was committed or discarded was not reserved")
        self._reserved.difference_update(keys)

    def lock(self, keys: Sequence[BlockKey]) -> None:
        """Record that a reader took one lock on each of `keys`."""
        self._locked.update(keys)

    def release(self, keys: Sequence[BlockKey]) -> None:
        """Record that a reader returned one lock on each of `keys`."""
        given = Counter(keys)
        if not given <= self._locked:
            raise ValueError("a block that was released was not locked")
        self._locked -= given

    def take_back(self) -> tuple[list[BlockKey], list[BlockKey]]:
        """End all writes and reads. Return the reserved keys, and the locked keys, each once per lock."""
        reserved, locked = list(self._reserved), list(self._locked.elements())
        self._reserved.clear()
        self._locked.clear()
        return reserved, locked

    def check(self) -> None:
        """Raise AssertionError if a reservation or a lock was not returned."""
        assert not self._reserved, f"{len(self._reserved)} reserved slots have no writer"
        assert not self._locked, f"{self._locked.total()} read locks have no reader"
