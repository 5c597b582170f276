"""Index of the prefixes that replicas hold, by the ends of their chains.

A block's name stands for the whole prefix that ends with the block. A replica publishes the ends (tips) of its chains,
since a tip implies its prefix. Where two chains part, their common prefix is published like a chain of its own.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from engine.fleet.prediction import Floats
from engine.fleet.report import Tips

NOWHERE: Final = (0, 0, 0)

MAX_RECENT: Final = 1 << 17
"""Blocks of prompts that the gateway itself has sent to replicas and remembers, the most recently used ones."""


Published = tuple[set[int], set[int], set[int]]
"""Names that one replica has published and not withdrawn, by tier."""


@dataclass(frozen=True, slots=True)
class Found:
    """Prefix of a prompt that is known, in blocks, by row.

    device: on the device. near: on the device or in CPU memory. below: in the common lower tier.
    last: row that computed the longest known prefix most recently; None if there is none.
    """

    device: Floats
    near: Floats
    below: int
    last: int | None


class PrefixIndex:
    """Rows by the names of the prefixes that they hold.

    There are two sources: the tips that replicas publish, and the prompts that this gateway sent them most recently.
    """

    def __init__(self) -> None:
        # For each name and tier, the rows that hold the prefix, as the bits of an integer.
        self._holders: dict[int, list[int]] = {}
        # For each name, the rows that were sent it, and the last of them.
        self._recent: OrderedDict[int, tuple[int, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._holders) + len(self._recent)

    def publish(self, row: int, published: Published, gained: Tips, lost: Tips) -> None:
        """Apply a change of the tips that the replica of `row` holds, and keep `published` up to date."""
        for tier, names in enumerate(lost.by_tier):
            for name in names:
                if name in published[tier]:
                    self._withdraw(row, published, tier, name)
        for tier, names in enumerate(gained.by_tier):
            published[tier].update(names)
            for name in names:
                self._holders.setdefault(name, [0, 0, 0])[tier] |= 1 << row

    def _withdraw(self, row: int, published: Published, tier: int, name: int) -> None:
        published[tier].discard(name)
        holders = self._holders[name]
        holders[tier] &= ~(1 << row)
        if not any(holders):
            del self._holders[name]

    def remove(self, row: int, published: Published) -> None:
        """Forget everything about the replica of `row`. Takes time linear in what was known of it."""
        for tier, names in enumerate(published):
            for name in list(names):
                self._withdraw(row, published, tier, name)
        self.forget(row, list(self._recent))

    def note(self, row: int, names: Iterable[int]) -> None:
        """Remember that a prompt with these blocks was sent to the replica of `row`."""
        recent, bit = self._recent, 1 << row
        # Backwards, so that the end of a chain is forgotten first.
        for name in reversed(list(names)):
            recent[name] = (recent.get(name, (0, 0))[0] | bit, row)
            recent.move_to_end(name)
        while len(recent) > MAX_RECENT:
            recent.popitem(last=False)

    def forget(self, row: int, names: Iterable[int]) -> None:
        """Forget that the replica of `row` computed these blocks, which it turned out not to have."""
        for name in names:
            if (known := self._recent.get(name)) is not None:
                rows = known[0] & ~(1 << row)
                if rows:
                    self._recent[name] = (rows, known[1])
                else:
                    del self._recent[name]

    def find(self, names: Sequence[int], num_rows: int) -> Found:
        """Return the longest known prefix of a prompt with these blocks, for each of `num_rows` rows."""
        device, near = np.zeros(num_rows), np.zeros(num_rows)
        on_device = at_hand = below = 0
        last = None
        holders, recent = self._holders, self._recent
        known = [depth for depth, name in enumerate(names, 1) if name in holders or name in recent]
        for depth in reversed(known):
            there, in_cpu, in_shared = holders.get(names[depth - 1], NOWHERE)
            if (sent := recent.get(names[depth - 1])) is not None:
                # A prompt that was sent may still be in the queue, but its blocks come before those of a later one.
                there |= sent[0]
                last = sent[1] if last is None else last
            above = there | in_cpu
            below = below or (depth if in_shared else 0)
            if more := there & ~on_device:
                on_device |= more
                _put(device, more, depth)
            if more := above & ~at_hand:
                at_hand |= more
                _put(near, more, depth)
        return Found(device, near, below, last)


def _put(column: Floats, rows: int, depth: int) -> None:
    """Set the value of the rows whose bits are set."""
    if rows & (rows - 1) == 0:
        column[rows.bit_length() - 1] = depth
        return
    size = len(column)
    bits = np.frombuffer(rows.to_bytes((size + 7) // 8, "little"), np.uint8)
    column[np.unpackbits(bits, count=size, bitorder="little").view(np.bool_)] = depth
