"""The host memory under the CPU tier: its size, and a view of it."""

import ctypes
import mmap

STAGING_BYTES = 64 << 20
_STAGING_BLOCKS = 32


def pool_bytes(wanted: int, block_nbytes: int, *, staging: bool) -> int:
    """Bytes to allocate, whole pages.

    staging: the pool only passes blocks on to Redis and back. It is at least 64 MiB, and holds some windows of blocks
    whatever their size.
    """
    if staging:
        wanted = max(wanted, STAGING_BYTES, _STAGING_BLOCKS * -(-block_nbytes // mmap.PAGESIZE) * mmap.PAGESIZE)
    return wanted // mmap.PAGESIZE * mmap.PAGESIZE


def map_pool(address: int, nbytes: int) -> memoryview:
    """A writable view (format 'B') of memory that somebody else owns, and must keep while the view is in use."""
    return memoryview((ctypes.c_ubyte * nbytes).from_address(address)).cast("B")
