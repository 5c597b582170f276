"""The CPU tier's pool, as ranks on other machines use it.

The pool on the engine's machine has the parts of all ranks, so that a block can go to a lower tier whole. Each rank on
another machine has a copy of its own part there. The rank sends what it stores, and fetches only the bytes that its
copy lacks: those that came from a lower tier, or that a former process of the rank had stored.
"""

import mmap
import os
import socket
import struct
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from threading import Lock, Thread
from typing import Final

from cache_tiers.transfer import TransferJob, TransferResult

_HEAD: Final = struct.Struct("<?QQ")
"""Request to the engine's machine: whether bytes follow, to be written, and the range of the pool."""


class FarPool:
    """A rank's copy of its part of the pool.

    memory: as large as the pool. Only pages with parts of this rank are ever touched, and so take up memory.
    """

    def __init__(self, pipe: Connection, nbytes: int, first: int, part: int) -> None:
        """Create an empty copy.

        pipe: to the PoolServer.
        nbytes: size of the pool.
        first, part: offset and size in bytes of this rank's part of a block.
        """
        self.memory = memoryview(mmap.mmap(-1, nbytes))
        self._pipe = pipe
        self._first, self._part = first, part
        self._lock = Lock()
        self._sender = ThreadPoolExecutor(max_workers=1, thread_name_prefix="far-pool")
        self._keys: dict[int, bytes] = {}
        self._storing: dict[int, TransferJob] = {}
        self._sending: deque[Future[TransferResult]] = deque()

    def prepare(self, loads: Iterable[TransferJob], stores: Iterable[TransferJob]) -> None:
        """Fetch what the copy lacks for `loads`, and note `stores`. Call before the step of these jobs begins.

        Raise OSError or EOFError if the engine is gone.
        """
        for job in loads:
            if self._keys.get(job.host_offset) != job.key:
                self._fetch(job.host_offset)
                self._keys[job.host_offset] = job.key
        for job in stores:
            # The block that had this place is gone.
            self._keys.pop(job.host_offset, None)
            self._storing[job.job_id] = job

    def settle(self, results: Iterable[TransferResult], *, wait: bool) -> tuple[TransferResult, ...]:
        """Take results of this rank's copies, and return those that are complete.

        A store is complete once its bytes are on the engine's machine, and a later call returns its result.

        wait: wait for the results of all stores.
        """
        complete: list[TransferResult] = []
        for result in results:
            job = self._storing.pop(result.job_id, None)
            if job is None or result.error is not None:
                complete.append(result)
            else:
                self._sending.append(self._sender.submit(self._send, job, result))
        while self._sending and (wait or self._sending[0].done()):
            complete.append(self._sending.popleft().result())
        return tuple(complete)

    def forget(self) -> None:
        """Drop the results of all stores, because the engine expects no more of them."""
        self.settle((), wait=True)
        self._storing.clear()

    def _range(self, offset: int) -> tuple[int, int]:
        return offset + self._first, offset + self._first + self._part

    def _fetch(self, offset: int) -> None:
        begin, end = self._range(offset)
        with self._lock:
            self._pipe.send_bytes(_HEAD.pack(False, begin, end))
            self._pipe.recv_bytes_into(self.memory, begin)

    def _send(self, job: TransferJob, result: TransferResult) -> TransferResult:
        begin, end = self._range(job.host_offset)
        try:
            with self._lock:
                self._pipe.send_bytes(_HEAD.pack(True, begin, end))
                self._pipe.send_bytes(self.memory[begin:end])
                self._pipe.recv_bytes()
        except (OSError, EOFError) as error:
            return replace(result, error=f"the CPU tier on the engine's machine cannot be reached: {error}")
        self._keys[job.host_offset] = job.key
        return result


class PoolServer:
    """Thread that serves the pool to one rank on another machine, until one of them closes the connection."""

    def __init__(self, pipe: Connection, pool: memoryview) -> None:
        """Begin to serve. `pool` must stay alive until `close`."""
        self._pipe = pipe
        self._pool = pool
        self._thread = Thread(target=self._run, name="pool-server", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop. After that, the pool is not accessed."""
        hang_up(self._pipe)
        self._thread.join()
        self._pipe.close()

    def _run(self) -> None:
        try:
            while True:
                self._answer()
        except (OSError, EOFError):
            hang_up(self._pipe)

    def _answer(self) -> None:
        brings, begin, end = _HEAD.unpack(self._pipe.recv_bytes())
        part = self._pool[begin:end]
        if len(part) != end - begin:
            raise OSError(f"bytes {begin} to {end} are not in a pool of {len(self._pool)}")
        if brings:
            self._pipe.recv_bytes_into(part)
            self._pipe.send_bytes(b"")
        else:
            self._pipe.send_bytes(part)


def hang_up(pipe: Connection) -> None:
    """End a connection by socket for both ends and all threads, also those that wait for it, without closing it."""
    with socket.socket(fileno=os.dup(pipe.fileno())) as connected, suppress(OSError):
        connected.shutdown(socket.SHUT_RDWR)
