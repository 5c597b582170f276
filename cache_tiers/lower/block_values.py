"""Representation of a block below CPU memory: one sealed value, or several for a large block."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from cache_tiers.lower.backend import Value
from cache_tiers.lower.block import Block
from cache_tiers.lower.sealed_value import HEADER_BYTES, BlockSeal, Reject


def num_values(block_nbytes: int, max_value_bytes: int | None) -> int:
    """Return the number of values for a block of `block_nbytes` bytes."""
    return 1 if max_value_bytes is None else max(1, -(-block_nbytes // max_value_bytes))


@dataclass(frozen=True, slots=True)
class BlockValues:
    """Values of a block.

    seal: writes and checks the header of each value.
    count: number of values per block.
    """

    seal: BlockSeal
    count: int = 1

    def keys(self, key: bytes) -> list[bytes]:
        """Return the keys of the block's values.

        The first value has the block's own key and stands for all of them. The other keys are derived from that key and
        the value's index, so that the MAC binds a value to both.
        """
        return [key, *(sha256(b"%s value %d" % (key, number)).digest() for number in range(1, self.count))]

    def sealed(self, block: Block) -> Iterator[Value]:
        """Yield the block's values with their headers, the first value last. Each is sealed when it is asked for."""
        first, *others = zip(self.keys(block.key), self._payloads(block.payload), strict=True)
        for key, payload in (*others, first):
            yield Value(key, self.seal.header(key, payload), payload)

    def to_fill(self, block: Block) -> list[Value]:
        """Return the block's values with empty headers, to be read."""
        parts = zip(self.keys(block.key), self._payloads(block.payload), strict=True)
        return [Value(key, bytearray(HEADER_BYTES), payload) for key, payload in parts]

    def check(self, value: Value, found: int | Reject | None) -> Reject | bool:
        """Return True if a value that was read is complete and verified, False if there was none, or the fault.

        found: see `TierSession.read`.
        """
        if not isinstance(found, int):
            return found if found is not None else False
        header = value.header[:found]
        reject = self.seal.check_header(value.key, header, found, value.payload.nbytes)
        return reject or self.seal.check_payload(header, value.payload) or True

    def _payloads(self, payload: memoryview) -> list[memoryview]:
        """Return the payloads of the block's values (format 'B'), as views of the block's payload."""
        size = -(-payload.nbytes // self.count)
        return [payload[number * size : (number + 1) * size] for number in range(self.count)]
