"""The folder of KV blocks during a soak: its bytes, its files, and the descriptors of the server that uses it."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bench.stats import median
from cache_tiers.disk.folder import disk_bytes, key_of


@dataclass(frozen=True, slots=True)
class DiskSample:
    """The folder and the server, `seconds` after the beginning.

    nbytes: bytes that the files take on the disk.
    blocks, others: files that are blocks, and that are not: locks, and drafts of blocks.
    descriptors: open descriptors of the server.
    """

    seconds: float
    nbytes: int
    blocks: int
    others: int
    descriptors: int


@dataclass(frozen=True, slots=True)
class DiskSummary:
    """Largest figures of a soak. descriptor_ratio: median of descriptors at the end over that after settling."""

    nbytes: int
    blocks: int
    others: int
    descriptor_ratio: float


def sample_disk(folder: Path, seconds: float, descriptors: int) -> DiskSample:
    """Look at the folder of the blocks of all secrets."""
    nbytes = blocks = others = 0
    for path in _files(str(folder)):
        # The server removes files at any time.
        with suppress(FileNotFoundError):
            nbytes += disk_bytes(os.lstat(path))
            is_block = key_of(os.path.basename(path)) is not None
            blocks, others = blocks + is_block, others + (not is_block)
    return DiskSample(seconds, nbytes, blocks, others, descriptors)


def _files(folder: str) -> Iterator[str]:
    for place, _, names in os.walk(folder):
        yield from (f"{place}/{name}" for name in names)


def summarise_disk(samples: Sequence[DiskSample], settle_seconds: float) -> DiskSummary:
    """Summarize the samples: the figures of all, and the descriptors from `settle_seconds` on.

    Raise ValueError if there are none after that.
    """
    later = [sample.descriptors for sample in samples if sample.seconds >= settle_seconds]
    if not later:
        raise ValueError(f"the disk was never sampled after {settle_seconds:g} s")
    part = max(1, len(later) // 3)
    return DiskSummary(
        max(sample.nbytes for sample in samples),
        max(sample.blocks for sample in samples),
        max(sample.others for sample in samples),
        median(later[-part:]) / median(later[:part]),
    )
