"""Copies of whole blocks between an accelerator's pool and the host pool, concurrent with the computation.

A block that is one piece of the pool is copied directly. A block in many pieces passes through a staging buffer, one
per direction: a store gathers the pieces in the buffer, and a load scatters them from it. One long copy over the bus
costs less than many short ones.
Loads and stores have a stream each. These rules alone order them:

- a copy begins after the work that was queued in the model's stream before it;
- the model's stream never waits for a copy. A block being loaded is neither read nor written, and a block being stored
  is not written, until the host has seen the copy end. From then on the host's order holds. The scheduler guarantees
  this, since a block belongs to its copy until the result of the copy has arrived;
- copies keep their order within a stream, so a staging buffer is never in use twice.
"""

from collections.abc import Iterable, Sequence

import torch

from cache_tiers.layout.kv_pool import KVPool
from cache_tiers.npu.owed_results import CopyBatch, EndedBatch, QueuedBatch
from cache_tiers.npu.streams import DeviceMemory
from cache_tiers.transfer import BlockCopy, Direction, TransferJob, TransferResult

NO_CPU_TIER = "there is no CPU tier"

Ends = tuple[Sequence[torch.Tensor], torch.Tensor]
"""The parts of a block in the pool, and its slot in host memory as flat bytes."""


class StagedCopies:
    """Copies that the model's thread starts and whose results any thread may await."""

    def __init__(self, pool: KVPool, num_blocks: int, memory: DeviceMemory) -> None:
        """Attach to `pool`. Only its first `num_blocks` blocks may be copied."""
        self._pool = pool
        self._num_blocks = num_blocks
        self._memory = memory
        self._host: torch.Tensor | None = None
        self._lanes = {direction: _Lane(pool, memory) for direction in Direction}

    def attach(self, host: memoryview) -> None:
        """Pin `host`, the CPU tier's whole pool: writable, format 'B'."""
        self._host = self._memory.pinned(host)

    def copy_within(self, copies: Iterable[BlockCopy]) -> None:
        """Queue copies between blocks of the pool, in the model's stream. Raise IndexError for ids outside the pool."""
        stream = self._memory.compute_stream()
        for copy in copies:
            for target, source in zip(self._block(copy.target_id), self._block(copy.source_id), strict=True):
                stream.copy(target, source)

    def start(self, jobs: Iterable[TransferJob]) -> Sequence[CopyBatch]:
        """Queue copies, loads before stores, and return them.

        A job outside either pool copies nothing, and its result has an `error`. If the device raises, no copy is in
        flight when the exception propagates.
        """
        failed: list[TransferResult] = []
        moves: dict[Direction, list[tuple[TransferJob, Ends]]] = {direction: [] for direction in Direction}
        for job in jobs:
            try:
                moves[job.direction].append((job, self._ends(job)))
            except IndexError as error:
                failed.append(TransferResult(job.job_id, 0.0, str(error)))
        batches: list[CopyBatch] = [EndedBatch(failed)] if failed else []
        try:
            batches += [self._queue(way, moves[way]) for way in (Direction.LOAD, Direction.STORE) if moves[way]]
        except BaseException:
            self._wait()
            raise
        return batches

    def close(self) -> None:
        """Wait until no copy is in flight, after which the host pool may be freed."""
        self._wait()
        self._host = None

    def _wait(self) -> None:
        for lane in self._lanes.values():
            lane.stream.record().wait()

    def _queue(self, direction: Direction, moves: Sequence[tuple[TransferJob, Ends]]) -> QueuedBatch:
        lane = self._lanes[direction]
        lane.stream.wait_for(self._memory.compute_stream().record())
        begin = lane.stream.record()
        for _, (block, slot) in moves:
            lane.move(direction, block, slot)
        return QueuedBatch([job for job, _ in moves], begin, lane.stream.record())

    def _ends(self, job: TransferJob) -> Ends:
        if self._host is None:
            raise IndexError(NO_CPU_TIER)
        block, end = self._block(job.block_id), job.host_offset + self._pool.layout.nbytes
        if job.host_offset < 0 or end > self._host.numel():
            size = self._host.numel()
            raise IndexError(f"host bytes {job.host_offset} to {end} are outside the CPU tier's pool of {size} bytes")
        return block, self._host[job.host_offset : end]

    def _block(self, block_id: int) -> Sequence[torch.Tensor]:
        if not 0 <= block_id < self._num_blocks:
            raise IndexError(f"block {block_id} is outside the device pool of {self._num_blocks} blocks")
        return self._pool.block(block_id)


class _Lane:
    """One direction: its stream, and its staging buffer if blocks are in pieces."""

    def __init__(self, pool: KVPool, memory: DeviceMemory) -> None:
        self.stream = memory.new_stream()
        self._buffer: torch.Tensor | None = None
        self._staged: Sequence[torch.Tensor] = ()
        if pool.is_in_pieces:
            self._buffer = memory.zeros((pool.layout.elements,), pool.tensor.dtype)
            self._staged = pool.parts(self._buffer)

    def move(self, direction: Direction, block: Sequence[torch.Tensor], slot: torch.Tensor) -> None:
        whole = block[0] if self._buffer is None else self._buffer
        flat = whole.view(-1).view(torch.uint8)
        if direction is Direction.LOAD:
            self.stream.copy(flat, slot)
            for part, staged in self._pairs(block):
                self.stream.copy(part, staged)
        else:
            for part, staged in self._pairs(block):
                self.stream.copy(staged, part)
            self.stream.copy(slot, flat)

    def _pairs(self, block: Sequence[torch.Tensor]) -> Iterable[tuple[torch.Tensor, torch.Tensor]]:
        """Pair the parts of `block` with those of the staging buffer. There are none if blocks are whole."""
        return zip(block, self._staged, strict=True) if self._staged else ()
