"""The device's KV cache: allocates the pool, and moves blocks between it and the CPU tier."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch

from cache_tiers.cpu.growing_memory import GrowingMemory
from cache_tiers.layout.kv_pool import KVPool
from cache_tiers.layout.layout import BlockLayout
from cache_tiers.npu.copy_engine import CopyEngine
from cache_tiers.npu.device_pool import DevicePool
from cache_tiers.npu.owed_results import EndedBatch, OwedResults
from cache_tiers.npu.staged_copies import NO_CPU_TIER, StagedCopies
from cache_tiers.transfer import BlockCopy, TransferJob, TransferResult
from engine.api.errors import EngineError
from engine.request.scheduler_output import SchedulerOutput
from engine.worker.torch.device import Device

Addresses = tuple[int, int]
"""Addresses of the block to read and of the block to write."""


@dataclass(frozen=True, slots=True)
class StepMoves:
    """Copies of a step.

    copies: within the device, made first.
    loads: made before anything is computed.
    stores: made after everything is computed.
    """

    copies: Sequence[Addresses] = ()
    loads: Sequence[Addresses] = ()
    stores: Sequence[Addresses] = ()

    @property
    def count(self) -> int:
        """Number of blocks to move."""
        return len(self.copies) + len(self.loads) + len(self.stores)


NO_MOVES = StepMoves()


class PlannedTransfers:
    """Transfers of one direction with their `addresses`; one that is not possible has failed already."""

    def __init__(self, jobs: Iterable[TransferJob], find: Callable[[TransferJob], Addresses]) -> None:
        """Find the addresses of `jobs`. `find` raises IndexError with the reason for a job that is not possible."""
        self.addresses: list[Addresses] = []
        self._jobs: list[TransferJob] = []
        self._failed: list[TransferResult] = []
        for job in jobs:
            try:
                self.addresses.append(find(job))
            except IndexError as error:
                self._failed.append(TransferResult(job.job_id, 0.0, str(error)))
            else:
                self._jobs.append(job)

    def results(self, seconds: Iterable[float]) -> tuple[TransferResult, ...]:
        """Return the results of all jobs. seconds: duration of the copy of each pair of addresses."""
        moved = (TransferResult(job.job_id, took) for job, took in zip(self._jobs, seconds, strict=True))
        return (*moved, *self._failed)


class CacheEngine:
    """Owner of `pool`, whose blocks start zeroed. In host memory, blocks become resident shortly before their use.

    owed: results of copies that no output has carried yet.
    """

    def __init__(
        self, layout: BlockLayout, num_blocks: int, dtype: torch.dtype, device: Device, *, spare_blocks: int = 0
    ) -> None:
        """Allocate the pool.

        spare_blocks: blocks after the `num_blocks` that are never moved. Rows that only pad a batch write there.
        """
        shape = ((num_blocks + spare_blocks) * layout.elements,)
        self._memory: GrowingMemory | None = None
        self._host_blocks: DevicePool | None = None
        self._copies: CopyEngine | None = None
        self._staged: StagedCopies | None = None
        self._device_name = device.name
        self.owed = OwedResults()
        if device.memory is None:
            self._memory = GrowingMemory(shape[0] * dtype.itemsize)
            self.pool = KVPool(torch.frombuffer(self._memory.view, dtype=dtype), layout)
            self._host_blocks = DevicePool(self.pool.tensor.view(torch.uint8).numpy().data, layout.nbytes)
        else:
            self.pool = KVPool(device.memory.zeros(shape, dtype), layout)
            self._staged = StagedCopies(self.pool, num_blocks, device.memory)

    def attach_host_pool(self, host_pool: memoryview) -> None:
        """Move blocks to and from the CPU tier's arena from now on. Raise EngineError if the device cannot do that."""
        if self._staged is not None:
            self._staged.attach(host_pool)
        elif self._host_blocks is not None:
            self._copies = CopyEngine(self._host_blocks, host_pool)

    def prepare(self, step: SchedulerOutput) -> None:
        """Have the blocks that follow those of `step` become resident, before later steps use them."""
        if self._memory is not None:
            self._memory.use((step.last_block + 1) * self.pool.layout.nbytes)

    def copy_within(self, copies: Iterable[BlockCopy]) -> None:
        """Copy whole blocks within the device, before anything that the model computes next."""
        if self._staged is not None:
            self._staged.copy_within(copies)
        elif self._host_blocks is not None:
            for copy in copies:
                self._host_blocks.copy(copy.source_id, copy.target_id)

    def start(self, step: int, jobs: Sequence[TransferJob]) -> None:
        """Begin the jobs of step `step`, a number that `owed` gave. They copy what the model computed before.

        Their results are owed. A job that fails is a result with `error`, never an exception. The model must not use
        the block of a load before its result has been taken.
        """
        if not jobs:
            return
        if self._staged is not None:
            for batch in self._staged.start(jobs):
                self.owed.add(step, batch)
        elif self._copies is not None:
            self.owed.add(step, EndedBatch(self._copies.run(jobs)))
        else:
            self.owed.refuse(step, jobs, NO_CPU_TIER)

    def run(self, jobs: Sequence[TransferJob]) -> tuple[TransferResult, ...]:
        """Make all copies of a step without tokens, and wait for them."""
        step = self.owed.begin_step()
        self.start(step, jobs)
        return self.owed.take(step, wait=True)

    def copy_addresses(self, copies: Iterable[BlockCopy]) -> list[Addresses]:
        """Return addresses for kernels that copy blocks. Raise EngineError if the device has its own memory."""
        if self._host_blocks is None:
            raise EngineError(f"blocks of a {self._device_name} device have no host address")
        blocks = self._host_blocks
        return [(blocks.address(copy.source_id), blocks.address(copy.target_id)) for copy in copies]

    def transfer_addresses(self, job: TransferJob) -> Addresses:
        """Return addresses for kernels that copy blocks. Raise IndexError if the job is not possible."""
        if self._copies is None:
            raise IndexError(NO_CPU_TIER)
        return self._copies.addresses(job)

    def close(self) -> None:
        """Release the host pool, so that its owner can free it. No copy may be in progress."""
        if self._staged is not None:
            self._staged.close()
        self._copies = self._host_blocks = self._staged = None
