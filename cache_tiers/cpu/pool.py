"""Size and mapping of the host memory that backs the CPU tier."""

import ctypes
import mmap

STAGING_BYTES = 64 << 20
_STAGING_BLOCKS = 32


def pool_bytes(wanted: int, block_nbytes: int, *, staging: bool) -> int:
    """Return the number of bytes to allocate, in whole pages.

    staging: the pool only passes blocks between the device and the lower tiers. A staging pool is at least 64 MiB, and
        holds several windows of blocks of any size.
    """
    if staging:
        wanted = max(wanted, STAGING_BYTES, _STAGING_BLOCKS * -(-block_nbytes // mmap.PAGESIZE) * mmap.PAGESIZE)
    return wanted // mmap.PAGESIZE * mmap.PAGESIZE


def map_pool(address: int, nbytes: int) -> memoryview:
    """Return a writable view (format 'B') of memory, which its owner must keep while the view is in use."""
    return memoryview((ctypes.c_ubyte * nbytes).from_address(address)).cast("B")
