"""Description of a loaded model for the scheduler, which may run in another process than the model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A loaded model, or one rank's part of it.

    block_nbytes: size of one KV block.
    free: bytes that the KV cache could take now.
    numerics: see `Worker.numerics_id`.
    """

    vocab_size: int
    max_position_embeddings: int
    block_nbytes: int
    free: int
    numerics: str


def of_all_ranks(parts: Sequence[LoadedModel]) -> LoadedModel:
    """Combine the parts of all ranks into the whole model.

    A KV block consists of the parts of all ranks. The rank with the least free memory sets the limit.
    """
    first = parts[0]
    return replace(
        first,
        block_nbytes=sum(part.block_nbytes for part in parts),
        free=len(parts) * min(part.free for part in parts),
    )
