"""The host memory under the CPU tier: its size, a view of it, and its pages."""

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


def pretouch(pool: memoryview) -> None:
    """Write every page, so that the kernel backs it now: a first touch costs as much as several copies."""
    address = ctypes.addressof(ctypes.c_ubyte.from_buffer(pool))
    ctypes.memset(address, 0, pool.nbytes)
