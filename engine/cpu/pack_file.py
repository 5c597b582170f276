"""File of a model's packed weights, as the kernels read them.

Layout: `_START` (magic, sizes of header and vectors, SHA-256 of both), the header in JSON, the vectors (float32, one
after another), zeros up to a huge page, then the panels. The values are in the order of bytes of this machine.

The header has a sum of 64-bit words for each MiB of panels. They are compared when the file is opened. That takes as
long as reading the file, and makes its pages resident.
"""

import hashlib
import json
import mmap
import os
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cache_tiers.cpu.growing_memory import HUGE_PAGE

_MAGIC: Final = b"EbbPack1"
_START: Final = struct.Struct("<8sQQ32s")
_CHUNK: Final = 1 << 20
"""Bytes with one sum."""
_WRITTEN_AT_ONCE: Final = 4 << 20
_SYNCED_AT_ONCE: Final = 64 << 20
"""Bytes after which a writer waits for the disk, so that other writers do not wait for hundreds of megabytes."""


class PackError(Exception):
    """A pack file that cannot be used. The message is a reason for the log."""


class PackStoppedError(Exception):
    """A writer that was asked to stop."""


@dataclass(frozen=True, slots=True)
class PackHeader:
    """The beginning of a pack file.

    identity: everything that the bytes depend on, as text. label: name of the model, for people.
    vectors: number of values of each vector.
    panels: bytes of all panels. sums: one per MiB of them.
    """

    identity: str
    label: str
    vectors: tuple[int, ...]
    panels: int
    sums: tuple[int, ...]


class MappedPack:
    """An opened pack file.

    vectors: copies of its vectors.
    panels: bytes of all panels. They are at `address` for as long as this object exists. Other processes that map the
        file share their memory.
    """

    def __init__(self, path: Path, identity: str) -> None:
        """Map the file, and compare its sums. Raise PackError unless it is whole and has this identity."""
        try:
            with path.open("rb") as file:
                header, digested, begin = _read_start(file.fileno())
                if header.identity != identity:
                    raise PackError("it was made of other weights, or for other kernels")
                self._mapped = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ)
        except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
            raise PackError(f"it cannot be read: {error}") from error
        self.panels = header.panels
        self.vectors = _split(digested, header.vectors)
        panels = np.frombuffer(self._mapped, np.uint8)[begin:]
        self.address = int(panels.ctypes.data)
        with suppress(OSError, AttributeError):
            self._mapped.madvise(mmap.MADV_WILLNEED)
        if len(panels) != header.panels or _sums(panels) != header.sums:
            raise PackError("it is damaged")


def read_header(path: Path) -> PackHeader:
    """Read the header of a pack file. Raise PackError."""
    try:
        with path.open("rb") as file:
            return _read_start(file.fileno())[0]
    except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
        raise PackError(f"it cannot be read: {error}") from error


def write_pack(
    path: Path,
    *,
    identity: str,
    label: str,
    vectors: Sequence[NDArray[np.float32]],
    panels: NDArray[np.uint8],
    wait: Callable[[], bool],
) -> None:
    """Write a pack file to `path`, which must not exist, and wait until it is on the disk.

    vectors: [n] each. panels: a multiple of 8 bytes.
    wait: called between two pieces of 4 MiB. Returns True to stop.

    Raise OSError, or PackStoppedError. An unfinished file then remains.
    """
    sizes = [len(vector) for vector in vectors]
    header = json.dumps(
        {"identity": identity, "label": label, "vectors": sizes, "panels": len(panels), "sums": list(_sums(panels))}
    ).encode()
    data = b"".join(vector.tobytes() for vector in vectors)
    digest = hashlib.sha256(header + data).digest()
    start = _START.pack(_MAGIC, len(header), len(data), digest) + header + data
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        _write(descriptor, memoryview(start.ljust(_panels_begin(len(start)), b"\0")))
        unsynced = 0
        for place in range(0, len(panels), _WRITTEN_AT_ONCE):
            if wait():
                raise PackStoppedError
            piece = panels[place : place + _WRITTEN_AT_ONCE].data
            _write(descriptor, piece)
            unsynced += len(piece)
            if unsynced >= _SYNCED_AT_ONCE:
                os.fdatasync(descriptor)
                unsynced = 0
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write(descriptor: int, data: memoryview) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _read_start(descriptor: int) -> tuple[PackHeader, bytes, int]:
    """Return the header, the bytes of the vectors, and where the panels begin. Raise PackError."""
    magic, header_size, vectors_size, digest = _START.unpack(os.pread(descriptor, _START.size, 0))
    if magic != _MAGIC:
        raise PackError("it has another format")
    length = _START.size + header_size + vectors_size
    begin = _panels_begin(length)
    if begin > os.fstat(descriptor).st_size:
        raise PackError("it is damaged")
    digested = os.pread(descriptor, header_size + vectors_size, _START.size)
    if hashlib.sha256(digested).digest() != digest:
        raise PackError("it is damaged")
    found: dict[str, Any] = json.loads(digested[:header_size])
    header = PackHeader(
        identity=found["identity"],
        label=found["label"],
        vectors=tuple(found["vectors"]),
        panels=found["panels"],
        sums=tuple(found["sums"]),
    )
    return header, digested[header_size:], begin


def _panels_begin(start: int) -> int:
    """Return where the panels begin after `start` bytes."""
    return -(-start // HUGE_PAGE) * HUGE_PAGE


def _split(data: bytes, sizes: Sequence[int]) -> tuple[NDArray[np.float32], ...]:
    values = np.frombuffer(bytearray(data), np.float32)
    ends = list(accumulate(sizes))
    return tuple(values[end - size : end] for size, end in zip(sizes, ends, strict=True))


def _sums(panels: NDArray[np.uint8]) -> tuple[int, ...]:
    """Add up the 64-bit words of each chunk, modulo 2^64."""
    whole = len(panels) // _CHUNK * _CHUNK
    words = panels[:whole].view(np.uint64).reshape(-1, _CHUNK // 8)
    rest = panels[whole:].view(np.uint64)
    return (*map(int, words.sum(axis=1)), *([int(rest.sum())] if len(rest) else []))
