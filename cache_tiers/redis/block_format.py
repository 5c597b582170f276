"""How a block lies in a Redis: in one value, or in several if it is large."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from cache_tiers.redis.value import BlockSeal

MOST_VALUE_BYTES: Final = 2 << 20
"""A server allocates each value, and each answer, as one piece, and gives large pieces back at once: to map and fault
them anew costs more than to copy them. Values of this size stay below that."""


def num_values(block_nbytes: int) -> int:
    """Over how many values a block of that size is spread."""
    return max(1, -(-block_nbytes // MOST_VALUE_BYTES))


@dataclass(frozen=True, slots=True)
class BlockFormat:
    """seal: of each value. ttl_seconds: how long an unused block stays. num_values: of each block."""

    seal: BlockSeal
    ttl_seconds: int
    num_values: int = 1

    def value_keys(self, key: bytes) -> list[bytes]:
        """Of the block's values. The first one has the block's own key, and stands for all of them. Those of the others
        are made of that and their place, so that the MAC binds them to both."""
        return [key, *(sha256(b"%s value %d" % (key, number)).digest() for number in range(1, self.num_values))]

    def payloads(self, payload: memoryview) -> list[memoryview]:
        """Of the block's values (format 'B'), views of the block's."""
        size = -(-payload.nbytes // self.num_values)
        return [payload[number * size : (number + 1) * size] for number in range(self.num_values)]
