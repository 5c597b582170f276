"""Representation of a block in Redis: one value, or several for a large block."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from cache_tiers.lower.sealed_value import BlockSeal

MAX_VALUE_BYTES: Final = 2 << 20
"""Largest payload of a value.

A server allocates each value and each reply as one piece, and returns large pieces to the system at once. Mapping and
faulting them in again costs more than copying them. Values of this size stay below that threshold.
"""


def num_values(block_nbytes: int) -> int:
    """Return the number of values for a block of `block_nbytes` bytes."""
    return max(1, -(-block_nbytes // MAX_VALUE_BYTES))


@dataclass(frozen=True, slots=True)
class BlockFormat:
    """Values of a block.

    seal: writes and checks the header of each value.
    ttl_seconds: time to live of an unused block.
    num_values: number of values per block.
    """

    seal: BlockSeal
    ttl_seconds: int
    num_values: int = 1

    def value_keys(self, key: bytes) -> list[bytes]:
        """Return the keys of the block's values.

        The first value has the block's own key and stands for all of them. The other keys are derived from that key and
        the value's index, so that the MAC binds a value to both.
        """
        return [key, *(sha256(b"%s value %d" % (key, number)).digest() for number in range(1, self.num_values))]

    def payloads(self, payload: memoryview) -> list[memoryview]:
        """Return the payloads of the block's values (format 'B'), as views of the block's payload."""
        size = -(-payload.nbytes // self.num_values)
        return [payload[number * size : (number + 1) * size] for number in range(self.num_values)]
