"""The device's block pool as bytes. Block i is one contiguous piece."""

import numpy as np
import numpy.typing as npt


class DevicePool:
    """View of a pool. The allocator of the memory must keep it alive for as long as this view is used."""

    def __init__(self, memory: memoryview, block_nbytes: int) -> None:
        """Wrap `memory`: writable, contiguous, format 'B', a whole number of blocks. Raise ValueError otherwise."""
        if memory.readonly or memory.format != "B" or memory.nbytes % block_nbytes:
            raise ValueError(
                f"the pool must be writable bytes in whole blocks of {block_nbytes} bytes, not {memory.nbytes} bytes"
            )
        self.block_nbytes = block_nbytes
        self.num_blocks = memory.nbytes // block_nbytes
        self._blocks = np.frombuffer(memory, dtype=np.uint8).reshape(self.num_blocks, block_nbytes)
        self._address: int = self._blocks.ctypes.data

    def block(self, block_id: int) -> npt.NDArray[np.uint8]:
        """Return the bytes of one block, writable. Raise IndexError for an id outside the pool."""
        self._check(block_id)
        block: npt.NDArray[np.uint8] = self._blocks[block_id]
        return block

    def address(self, block_id: int) -> int:
        """Return the address of one block. Raise IndexError for an id outside the pool."""
        self._check(block_id)
        return self._address + block_id * self.block_nbytes

    def _check(self, block_id: int) -> None:
        if not 0 <= block_id < self.num_blocks:
            raise IndexError(f"block {block_id} is outside the device pool of {self.num_blocks} blocks")

    def copy(self, source_id: int, target_id: int) -> None:
        """Copy one block over another. Raise IndexError for an id outside the pool."""
        np.copyto(self.block(target_id), self.block(source_id))
