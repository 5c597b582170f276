"""The device's KV cache: allocates the pool, and moves blocks between it and the CPU tier."""

from collections.abc import Iterable

import torch

from cache_tiers.layout import BlockLayout
from cache_tiers.npu.copy_engine import CopyEngine
from cache_tiers.npu.device_pool import DevicePool
from cache_tiers.transfer import BlockCopy, TransferJob, TransferResult
from engine.errors import EngineError
from engine.worker.device import Device
from engine.worker.step_moves import Addresses

NO_CPU_TIER = "there is no CPU tier"


class CacheEngine:
    """Owns `kv_cache`, [num_blocks, *layout.shape]: zeroed, so every page of it is resident from the start."""

    def __init__(self, layout: BlockLayout, num_blocks: int, dtype: torch.dtype, device: Device) -> None:
        self.kv_cache = torch.zeros((num_blocks, *layout.shape), dtype=dtype, device=device.torch_device)
        memory = device.host_bytes(self.kv_cache)
        self._pool = DevicePool(memory, layout.nbytes) if memory is not None else None
        self._copies: CopyEngine | None = None
        self._device_name = device.name

    def attach_host_pool(self, host_pool: memoryview) -> None:
        """From now on blocks move to and from the CPU tier's arena; raises EngineError if the device cannot do that."""
        if self._pool is None:
            raise EngineError(f"KV tiers below a {self._device_name} device are not supported yet")
        self._copies = CopyEngine(self._pool, host_pool)

    def copy_within(self, copies: Iterable[BlockCopy]) -> None:
        """Copy whole blocks within the device."""
        for copy in copies:
            if self._pool is not None:
                self._pool.copy(copy.source_id, copy.target_id)
            else:
                self.kv_cache[copy.target_id].copy_(self.kv_cache[copy.source_id])

    def run(self, jobs: Iterable[TransferJob]) -> tuple[TransferResult, ...]:
        """All jobs, done when it returns; one that fails is a result with `error`, never an exception."""
        if self._copies is None:
            return tuple(TransferResult(job.job_id, 0.0, NO_CPU_TIER) for job in jobs)
        return self._copies.run(jobs)

    def copy_addresses(self, copies: Iterable[BlockCopy]) -> list[Addresses]:
        """For kernels that copy themselves; raises EngineError where the device's memory is not the host's."""
        if self._pool is None:
            raise EngineError(f"a {self._device_name} device's blocks have no address here")
        return [(self._pool.address(copy.source_id), self._pool.address(copy.target_id)) for copy in copies]

    def transfer_addresses(self, job: TransferJob) -> Addresses:
        """For kernels that copy themselves; raises IndexError if the job is not possible."""
        if self._copies is None:
            raise IndexError(NO_CPU_TIER)
        return self._copies.addresses(job)

    def close(self) -> None:
        """Let go of the host pool, so that its owner can free it."""
        self._copies = self._pool = None
