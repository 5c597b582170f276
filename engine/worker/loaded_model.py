"""Description of a loaded model for the scheduler, which may run in another process than the model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.api.errors import EngineError
from models.adapters.adapter import Adapter
from models.interface.partition import UNDIVIDED, Partition


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel:
    """A loaded model, or one process's part of it.

    block_nbytes: size of one KV block; 0 for an encoder, which has no KV.
    draft_block_nbytes: size of one block of the draft model, of which its pool has as many; 0 without one.
    free: bytes that the KV cache could take now.
    weights: bytes of the weights in memory.
    numerics: see `Worker.numerics_id`.
    shares_memory: whether other processes with parts of the model would take the same bytes.
    partition: division among processes.
    adapters: the adapters that were read.
    """

    vocab_size: int
    max_position_embeddings: int
    block_nbytes: int
    free: int
    numerics: str
    weights: int = 0
    shares_memory: bool = True
    partition: Partition = UNDIVIDED
    adapters: tuple[Adapter, ...] = ()
    draft_block_nbytes: int = 0

    @property
    def pool_block_nbytes(self) -> int:
        """Bytes that one block takes in the pools of both models."""
        return self.block_nbytes + self.draft_block_nbytes


def of_all_processes(parts: Sequence[LoadedModel], partition: Partition) -> LoadedModel:
    """Combine the parts of all processes into the whole model.

    A KV block consists of the parts of all processes. Where each process has separate memory, the one with room for
    the fewest blocks sets the limit.

    Raise EngineError if the processes have read different adapters.
    """
    if any(part.adapters != parts[0].adapters for part in parts):
        raise EngineError("--adapters-dir: the processes of the model read different adapters. Start the server again.")
    first, block_nbytes = parts[0], sum(part.block_nbytes for part in parts)
    free = min(part.free for part in parts)
    if not first.shares_memory:
        free = min(part.free // part.block_nbytes for part in parts) * block_nbytes
    weights = sum(part.weights for part in parts)
    return replace(first, block_nbytes=block_nbytes, free=free, weights=weights, partition=partition)
