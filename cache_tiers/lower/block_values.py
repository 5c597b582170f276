"""Representation of a block below CPU memory: one sealed value, or several for a large block."""

import mmap
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from cache_tiers.lower.backend import Value, values_per_block
from cache_tiers.lower.block import Block
from cache_tiers.lower.sealed_value import HEADER_BYTES, TAG_BYTES, BlockSeal, Reject
from cache_tiers.owners.block_key import Owner, owner_of


class _SealedMemory(threading.local):
    """Memory of each thread for the sealed payload of one value. A page of it takes memory from its first use."""

    def __init__(self, payload_bytes: int) -> None:
        self._pages = memoryview(mmap.mmap(-1, payload_bytes + TAG_BYTES))

    def of(self, payload: memoryview) -> memoryview:
        """Return room for a payload and its tag, beginning at a page."""
        return self._pages[: payload.nbytes + TAG_BYTES]


@dataclass(frozen=True, slots=True)
class IncomingValue:
    """A value that is to be read.

    value: what the tier fills.
    owner: that of the block.
    sealed: the memory of the value's payload, and room for the tag.
    payload: memory of the block, to be filled once the value was found to be whole.
    """

    value: Value
    owner: Owner
    sealed: memoryview
    payload: memoryview


class BlockValues:
    """Values of a block.

    Sealed payloads exist in memory of the calling thread, of which there is enough for one value. So a value that is to
    be written lasts until the next one is asked for, and a value that was read must be opened before the next one is
    filled. `TierSession` has these rules.

    count: number of values per block.
    """

    def __init__(self, seal: BlockSeal, block_nbytes: int, max_value_bytes: int | None = None) -> None:
        self._seal = seal
        self.count = values_per_block(block_nbytes, max_value_bytes)
        self._memory = _SealedMemory(-(-block_nbytes // self.count))

    def keys(self, key: bytes) -> list[bytes]:
        """Return the keys of the block's values.

        The first value has the block's own key and stands for all of them. The other keys are derived from that key and
        the value's index, so that the seal binds a value to both.
        """
        return [key, *(sha256(b"%s value %d" % (key, number)).digest() for number in range(1, self.count))]

    def sealed(self, block: Block) -> Iterator[Value]:
        """Yield the block's values, the first value last. Each is sealed when it is asked for."""
        first, *others = zip(self.keys(block.key), self._payloads(block.payload), strict=True)
        for key, payload in (*others, first):
            sealed = self._memory.of(payload)
            header = self._seal.seal(key, owner_of(block.key), payload, sealed)
            yield Value(key, header, sealed[:-TAG_BYTES], is_last=key == block.key)

    def to_fill(self, block: Block) -> list[IncomingValue]:
        """Return the block's values with empty headers, to be read."""
        values = []
        for key, payload in zip(self.keys(block.key), self._payloads(block.payload), strict=True):
            sealed = self._memory.of(payload)
            value = Value(key, bytearray(HEADER_BYTES), sealed[:-TAG_BYTES])
            values.append(IncomingValue(value, owner_of(block.key), sealed, payload))
        return values

    def open(self, incoming: IncomingValue, found: int | Reject | None) -> Reject | bool:
        """Fill the block's memory from a value that was read.

        Return True if the value is complete and verified, False if there was none, or the fault.

        found: see `TierSession.read`.
        """
        if not isinstance(found, int):
            return found if found is not None else False
        header, nbytes = incoming.value.header[:found], incoming.payload.nbytes
        reject = self._seal.check_header(incoming.value.key, incoming.owner, header, found, nbytes)
        return reject or self._seal.open(header, incoming.sealed, incoming.payload) or True

    def _payloads(self, payload: memoryview) -> list[memoryview]:
        """Return the payloads of the block's values (format 'B'), as views of the block's payload."""
        size = -(-payload.nbytes // self.count)
        return [payload[number * size : (number + 1) * size] for number in range(self.count)]
