"""Moves of blocks within the device pool and between it and the CPU tier: the jobs for the worker, and its results."""

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class BlockCopy:
    """Copy of a whole block within the device."""

    source_id: int
    target_id: int


class Direction(Enum):
    """Direction in which a job moves bytes."""

    STORE = "device->cpu"
    LOAD = "cpu->device"


@dataclass(frozen=True, slots=True)
class TransferJob:
    """Copy of one whole block.

    host_offset: in bytes from the start of the CPU tier's pool.
    key: of the block, for a machine with a copy of its part of the pool (`engine.executor.far_pool`).
    """

    job_id: int
    direction: Direction
    block_id: int
    host_offset: int
    key: bytes = b""


@dataclass(frozen=True, slots=True)
class TransferResult:
    """End of the copy `job_id`. All of its bytes were copied, unless `error` gives a reason why not."""

    job_id: int
    seconds: float
    error: str | None = None
