"""A disk tier of small blocks, and the operations that tests perform on it."""

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from cache_tiers.disk.backend import DiskBackend
from cache_tiers.disk.value_file import PAGE
from cache_tiers.lower.async_tier import AsyncTier
from cache_tiers.lower.block import Block
from cache_tiers.lower.promise import Promised, PromiseTerms
from cache_tiers.lower.tier import LowerTierOptions
from cache_tiers.owners.owners import Owners
from tests.store_rig import CLIENT, SEAL, key
from tests.tier_results import Results

NBYTES: Final = 2 * PAGE
FILE: Final = PAGE + NBYTES


def payload(number: int) -> bytes:
    """Return the bytes of a block."""
    return hashlib.shake_128(b"%d" % number).digest(NBYTES)


class Disk:
    """A tier on `folder`, and its operations."""

    def __init__(self, folder: Path, max_bytes: int = 1 << 30, **options: Any) -> None:
        self.folder = folder
        self.backend = DiskBackend(folder, max_bytes, **({"kept_free": 0} | options))
        self.tier = AsyncTier(self.backend, LowerTierOptions(NBYTES, 1 << 20, SEAL, Owners()))

    def put(self, *numbers: int, owner: bytes = b"somebody") -> list[bool]:
        """Write blocks one after the other."""
        stored = []
        for number in numbers:
            results = Results[bool]()
            self.tier.put([Block(key(number, owner), memoryview(payload(number)))], results)
            stored += results.wait(1)
        return stored

    def load(self, *numbers: int, owner: bytes = b"somebody") -> list[int]:
        """Return the blocks that arrived, each with its right bytes."""
        results = Results[list[bool]]()
        blocks = [Block(key(number, owner), memoryview(bytearray(NBYTES))) for number in numbers]
        self.tier.load(blocks, results)
        [loaded] = results.wait(1)
        there = [(number, block) for number, block, found in zip(numbers, blocks, loaded, strict=True) if found]
        assert all(block.payload == payload(number) for number, block in there)
        return [number for number, _ in there]

    def probe(self) -> None:
        """Do what the tier does every second."""
        self.backend.connect(self.tier._meter, CLIENT).usage()

    def promise(
        self, *numbers: int, seconds: float = 300.0, reserved_bytes: int = 1 << 30, owner: bytes = b"somebody"
    ) -> Promised:
        """Promise a chain of blocks."""
        results = Results[Promised]()
        keys = [key(number, owner) for number in numbers]
        self.tier.promise(keys, PromiseTerms(seconds, reserved_bytes), results)
        [promised] = results.wait(1)
        return promised

    def files(self) -> list[Path]:
        """Return the files of all blocks."""
        return [path for path in self.folder.rglob("*") if len(path.name) == 64]

    def file(self, number: int, owner: bytes = b"somebody") -> Path:
        """Return the path of a block's file."""
        return Path(self.backend.folder.file_of(SEAL.fingerprint, key(number, owner)))

    def close(self) -> None:
        """Close the tier and its folder."""
        self.tier.close()
        self.backend.close()


def promised_files(folder: Path) -> list[Path]:
    """Return the files of blocks that are promised for at least an hour."""
    files = [path for path in folder.rglob("*") if len(path.name) == 64]
    return [path for path in files if path.stat().st_atime > time.time() + 3600]


@contextmanager
def opened(folder: Path, max_bytes: int = 1 << 30, **options: Any) -> Iterator[Disk]:
    """Open a tier for the time of a test."""
    disk = Disk(folder, max_bytes, **options)
    try:
        yield disk
    finally:
        disk.close()
