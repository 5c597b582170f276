"""Index of the prefixes that replicas hold, by the ends of their chains.

A block's name stands for the whole prefix that ends with the block. A replica publishes the ends (tips) of its chains,
since a tip implies its prefix. Where two chains part, their common prefix is published like a separate chain.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from engine.fleet.routing.prediction import Floats
from engine.fleet.wire.report import Tips

NOWHERE: Final = (0, 0, 0)
NEVER: Final = (0, -1)

MAX_RECENT: Final = 1 << 17
"""Blocks of prompts that the gateway itself has sent to replicas and remembers, apart from the newest prompts."""


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
        # For each name, the rows that were sent it, and the last of them. As soon as half of MAX_RECENT names are
        # recent, they become the former ones, and those before them are forgotten all at once.
        self._recent: dict[int, tuple[int, int]] = {}
        self._former: dict[int, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self._holders) + len(self._recent) + len(self._former)

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
        self.forget(row, [*self._recent, *self._former])

    def note(self, row: int, names: Iterable[int]) -> None:
        """Remember that a prompt with these blocks was sent to the replica of `row`."""
        recent, former, bit = self._recent, self._former, 1 << row
        # Backwards, so that the end of a chain is forgotten first.
        for name in reversed(list(names)):
            known = recent.get(name) or former.get(name, NEVER)
            recent[name] = (known[0] | bit, row)
        if len(recent) >= MAX_RECENT // 2:
            self._recent, self._former = {}, recent

    def forget(self, row: int, names: Iterable[int]) -> None:
        """Forget that the replica of `row` computed these blocks, which it turned out not to have."""
        for name in names:
            for sent in (self._recent, self._former):
                if (known := sent.get(name)) is not None:
                    if rows := known[0] & ~(1 << row):
                        sent[name] = (rows, known[1])
                    else:
                        del sent[name]

    def find(self, names: Sequence[int], num_rows: int) -> Found:
        """Return the longest known prefix of a prompt with these blocks, for each of `num_rows` rows."""
        device, near = np.zeros(num_rows), np.zeros(num_rows)
        on_device = at_hand = below = 0
        last = None
        holders, sent = self._holders, self._sent(names)
        tips = [at for at in range(len(sent), len(names)) if names[at] in holders]
        for at in reversed((*range(len(sent)), *tips)):
            there, in_cpu, in_shared = holders.get(names[at], NOWHERE)
            if at < len(sent):
                # A prompt that was sent may still be in the queue, but its blocks come before those of a later one.
                there |= sent[at][0]
                last = sent[at][1] if last is None else last
            above = there | in_cpu
            below = below or (at + 1 if in_shared else 0)
            if more := there & ~on_device:
                on_device |= more
                _put(device, more, at + 1)
            if more := above & ~at_hand:
                at_hand |= more
                _put(near, more, at + 1)
        return Found(device, near, below, last)

    def _sent(self, names: Sequence[int]) -> list[tuple[int, int]]:
        """Return what is known of the leading blocks that some prompt had. The end of a chain is forgotten first."""
        recent, former, sent = self._recent, self._former, []
        for name in names:
            if (known := recent.get(name) or former.get(name)) is None:
                break
            sent.append(known)
        return sent


def _put(column: Floats, rows: int, depth: int) -> None:
    """Set the value of the rows whose bits are set."""
    if rows & (rows - 1) == 0:
        column[rows.bit_length() - 1] = depth
        return
    size = len(column)
    bits = np.frombuffer(rows.to_bytes((size + 7) // 8, "little"), np.uint8)
    column[np.unpackbits(bits, count=size, bitorder="little").view(np.bool_)] = depth
