"""A disk tier on any folder, with blocks whose bytes follow from their numbers."""

import hashlib
import mmap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from cache_tiers.disk.backend import DiskBackend
from cache_tiers.lower.async_tier import AsyncTier
from cache_tiers.lower.block import Block
from cache_tiers.lower.tier import LowerTierOptions
from cache_tiers.owners.owners import Owners
from tests.store_rig import SEAL, key
from tests.tier_results import Results

NBYTES: Final = 1 << 20
AT_ONCE: Final = 8


def payload(number: int) -> bytes:
    """Return the bytes of a block."""
    return hashlib.shake_128(b"%d" % number).digest(NBYTES)


class TierOn:
    """A disk tier on a folder, whose blocks move through page-aligned memory, as those of the server do."""

    def __init__(self, folder: Path, max_bytes: int, kept_free: int) -> None:
        self.backend = DiskBackend(folder, max_bytes, kept_free=kept_free)
        self.tier = AsyncTier(self.backend, LowerTierOptions(NBYTES, 64 * NBYTES, SEAL, Owners()))
        self._memory = memoryview(mmap.mmap(-1, AT_ONCE * NBYTES))

    def put(self, number: int, owner: bytes = b"somebody") -> bool:
        """Write a block. Return whether it was stored."""
        memory = self._memory[:NBYTES]
        memory[:] = payload(number)
        results = Results[bool]()
        self.tier.put([Block(key(number, owner), memory)], results)
        return results.wait(1)[0]

    def erase(self, numbers: Iterable[int]) -> bool:
        """Remove blocks. Return whether the tier confirmed it."""
        results = Results[bool]()
        self.tier.erase([key(number) for number in numbers], results)
        return results.wait(1)[0]

    def load(self, numbers: list[int]) -> list[int]:
        """Return the blocks that arrived. Raise AssertionError if any byte of one is wrong."""
        found = []
        for start in range(0, len(numbers), AT_ONCE):
            part = numbers[start : start + AT_ONCE]
            blocks = [Block(key(number), self._slot(at)) for at, number in enumerate(part)]
            results = Results[list[bool]]()
            self.tier.load(blocks, results)
            there = [number for number, is_there in zip(part, results.wait(1)[0], strict=True) if is_there]
            assert all(self._slot(part.index(number)) == payload(number) for number in there), "wrong bytes"
            found += there
        return found

    def _slot(self, at: int) -> memoryview:
        return self._memory[at * NBYTES : (at + 1) * NBYTES]


@contextmanager
def tier_on(folder: Path, max_bytes: int = 1 << 30, kept_free: int = 0) -> Iterator[TierOn]:
    """Open a disk tier on `folder` for the duration of the context."""
    made = TierOn(folder, max_bytes, kept_free)
    try:
        yield made
    finally:
        made.tier.close()
        made.backend.close()
