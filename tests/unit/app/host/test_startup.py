"""Memory after the start: the garbage collector skips long-lived objects, and freed memory is returned."""

import ctypes
import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.process.gc_freeze import frozen_objects
from engine.worker.host_resources import return_freed_memory

MIB = 1 << 20
PIECE = 16 << 10


@pytest.fixture(autouse=True)
def _collector_as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    # Objects stay frozen. Otherwise each later collection visits all that the tests import.
    gc.set_threshold(*thresholds)


def test_objects_made_at_start_are_frozen_for_collector() -> None:
    before = gc.get_freeze_count()
    with frozen_objects():
        assert not gc.isenabled()
        kept = [[number] for number in range(1000)]
    assert gc.isenabled()
    assert gc.get_freeze_count() - before >= len(kept)
    assert not any(each is kept[0] for each in gc.get_objects())
    later = [len(kept)]
    assert any(each is later for each in gc.get_objects())


def test_collector_is_enabled_again_after_failed_start() -> None:
    with pytest.raises(ValueError, match="no model"), frozen_objects():
        raise ValueError("no model")
    assert gc.isenabled()


def test_freed_memory_is_returned_to_the_system() -> None:
    """Free pieces too small to be mapped individually, below one that is still in use. glibc alone would keep them."""
    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    library.free.argtypes = [ctypes.c_void_p]
    pieces = [library.malloc(PIECE) for _ in range(64 * MIB // PIECE)]
    for piece in pieces:
        ctypes.memset(piece, 1, PIECE)
    last = library.malloc(PIECE)
    for piece in pieces:
        library.free(piece)
    before = resident_bytes()
    return_freed_memory()
    assert before - resident_bytes() > 48 * MIB
    library.free(last)


def resident_bytes() -> int:
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * 4096
