"""The promised values of a folder, by the end of their promises."""

import heapq
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping

from cache_tiers.disk.stored_value import StoredValue, ValueId
from cache_tiers.owners.block_key import Owner, owner_of


class PromisedValues:
    """Values that are not evicted for now. Not thread-safe.

    size: sum of their bytes.
    """

    def __init__(self) -> None:
        self.size = 0
        self._values: dict[ValueId, StoredValue] = {}
        self._held: Counter[Owner] = Counter()
        self._ends: list[tuple[float, int, ValueId]] = []
        """A heap with an entry for each value. An entry is stale if the value's promise has another end."""
        self._ticks = itertools.count()

    @property
    def held(self) -> Mapping[Owner, int]:
        """Promised bytes by owner."""
        return self._held

    def get(self, value: ValueId) -> StoredValue | None:
        """Return a promised value; None if it is not promised."""
        return self._values.get(value)

    def items(self) -> Iterator[tuple[ValueId, StoredValue]]:
        """Yield all promised values."""
        yield from self._values.items()

    def put(self, value: ValueId, stored: StoredValue) -> None:
        """Set a promised value. Promises with the same end are ended in the order in which they were set."""
        self.pop(value)
        self._values[value] = stored
        self._held[owner_of(value)] += stored.nbytes
        self.size += stored.nbytes
        heapq.heappush(self._ends, (stored.promised_until, next(self._ticks), value))
        if len(self._ends) > 64 + 4 * len(self._values):
            self._ends = [each for each in self._ends if self._is_current(each)]
            heapq.heapify(self._ends)

    def pop(self, value: ValueId) -> StoredValue | None:
        """Remove a value and return it; None if it is not promised."""
        stored = self._values.pop(value, None)
        if stored is not None:
            owner = owner_of(value)
            self.size -= stored.nbytes
            self._held[owner] -= stored.nbytes
            if not self._held[owner]:
                del self._held[owner]
        return stored

    def next_to_end(self) -> ValueId | None:
        """Return the value whose promise ends first; None if there is none."""
        while self._ends:
            if self._is_current(self._ends[0]):
                return self._ends[0][2]
            heapq.heappop(self._ends)
        return None

    def take_ended(self, now: float) -> list[tuple[ValueId, StoredValue]]:
        """Remove and return the values whose promise has ended, in the order of the ends."""
        ended: list[tuple[ValueId, StoredValue]] = []
        while (value := self.next_to_end()) is not None and not self._values[value].is_promised(now):
            stored = self.pop(value)
            assert stored is not None
            ended.append((value, stored))
        return ended

    def _is_current(self, end: tuple[float, int, ValueId]) -> bool:
        until, _, value = end
        stored = self._values.get(value)
        return stored is not None and stored.promised_until == until
