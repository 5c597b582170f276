"""Copies of whole blocks between the device pool and the host pool, both in host memory."""

import time
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from cache_tiers.npu.device_pool import DevicePool
from cache_tiers.transfer import Direction, TransferJob, TransferResult


class CopyEngine:
    """One memcpy per block, on the calling thread, with the GIL released.

    numpy does the copies, because a tensor's copy_ wakes OpenMP threads that then spin and starve the model's threads.
    """

    def __init__(self, device: DevicePool, host: memoryview) -> None:
        """Attach to both pools. `host` is the CPU tier's whole pool, writable, format 'B'."""
        self._device = device
        self._host = np.frombuffer(host, dtype=np.uint8)
        self._host_address: int = self._host.ctypes.data

    def run(self, jobs: Iterable[TransferJob]) -> tuple[TransferResult, ...]:
        """Copy the blocks of all jobs, then return. A job outside either pool copies nothing and returns an `error`."""
        return tuple(self._copy(job) for job in jobs)

    def _copy(self, job: TransferJob) -> TransferResult:
        started = time.perf_counter()
        try:
            block = self._device.block(job.block_id)
            slot = self._slot(job.host_offset)
        except IndexError as error:
            return TransferResult(job.job_id, time.perf_counter() - started, str(error))
        if job.direction is Direction.STORE:
            np.copyto(slot, block)
        else:
            np.copyto(block, slot)
        return TransferResult(job.job_id, time.perf_counter() - started)

    def addresses(self, job: TransferJob) -> tuple[int, int]:
        """Return the source and the target address of a copy that the caller will do itself.

        Raise IndexError outside either pool.
        """
        self._check(job.host_offset)
        block, slot = self._device.address(job.block_id), self._host_address + job.host_offset
        return (block, slot) if job.direction is Direction.STORE else (slot, block)

    def _slot(self, offset: int) -> npt.NDArray[np.uint8]:
        self._check(offset)
        return self._host[offset : offset + self._device.block_nbytes]

    def _check(self, offset: int) -> None:
        end = offset + self._device.block_nbytes
        if offset < 0 or end > self._host.size:
            raise IndexError(f"host bytes {offset} to {end} are outside the CPU tier's pool of {self._host.size} bytes")
