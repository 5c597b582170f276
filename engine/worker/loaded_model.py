"""What the scheduler's side must know of a model that was loaded, wherever that is."""

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """block_nbytes: of one KV block. free: bytes that its KV could take now. numerics: see `Worker.numerics_id`."""

    vocab_size: int
    max_position_embeddings: int
    block_nbytes: int
    free: int
    numerics: str


def of_all_ranks(parts: Sequence[LoadedModel]) -> LoadedModel:
    """The model whose parts these are: a block of it is the parts of all ranks, and the poorest rank sets the limit."""
    first = parts[0]
    return replace(
        first,
        block_nbytes=sum(part.block_nbytes for part in parts),
        free=len(parts) * min(part.free for part in parts),
    )
