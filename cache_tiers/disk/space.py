"""How much of a disk KV blocks may take."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

GIB: Final = 1 << 30
LARGEST_DEFAULT: Final = 20 * GIB
"""Largest bound, in bytes, where none is set."""
DEFAULT_SHARE: Final = 0.1
"""Share of the bytes that are free, or the tier's own, where no bound is set."""
LEAST_FREE: Final = 2 * GIB
"""Fewest bytes that writes leave free on the disk."""
FREE_SHARE: Final = 0.05
"""Share of the disk that writes leave free."""


@dataclass(frozen=True, slots=True)
class DiskSpace:
    """State of the file system of a folder, in bytes.

    is_read_only: whether nothing can be written there.
    total_files, free_files: files that it can hold, and how many more; 0 in total if there is no limit.
    """

    total: int
    free: int
    is_read_only: bool
    total_files: int = 0
    free_files: int = 0

    @property
    def kept_free(self) -> int:
        """Bytes that writes leave free for everything else."""
        return max(LEAST_FREE, int(self.total * FREE_SHARE))

    @property
    def spare_files(self) -> int:
        """Files that can be created while enough are left for everything else; below 0 if too few are left."""
        return self.free_files - int(self.total_files * FREE_SHARE) if self.total_files else sys.maxsize


def space_of(folder: Path) -> DiskSpace:
    """Ask the file system. Raise OSError."""
    found = os.statvfs(folder)
    return DiskSpace(
        found.f_blocks * found.f_frsize,
        found.f_bavail * found.f_frsize,
        bool(found.f_flag & os.ST_RDONLY),
        found.f_files,
        found.f_favail,
    )


def default_bound(free: int, own: int, *, share: float = DEFAULT_SHARE, largest: int = LARGEST_DEFAULT) -> int:
    """Return the bound of a folder where none is set: a share of the bytes that are free, or its own, up to `largest`.

    own: bytes that the folder already uses, so that restarts change nothing.
    """
    return min(largest, int((free + own) * share))


def existing_part(folder: Path) -> Path:
    """Return `folder` or the nearest folder above it that exists."""
    return next(part for part in (folder, *folder.parents) if part.exists())
