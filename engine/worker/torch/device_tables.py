"""Block tables that captured graphs read: static memory of the device, to which only changes are copied."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from engine.device.pinned_copy import upload


class DeviceTables:
    """Block tables on the device, one per line.

    tensor: [lines, blocks] int32, always the same memory.
    """

    def __init__(self, pad_blocks: npt.NDArray[np.int64], max_blocks: int, device: torch.device) -> None:
        """Create lines that are all padding.

        pad_blocks: [lines], the block of each line while the line is padding.
        """
        self._rows = _TableRows(pad_blocks, max_blocks)
        self.tensor = torch.tensor(self._rows.numbers, device=device)

    def write(self, tables: Sequence[Sequence[int]], num_lent: int = 0) -> None:
        """Write the block ids that are new since the previous call to the device. See `_TableRows.update`."""
        places = self._rows.update(tables, num_lent)
        if places:
            at = np.array(places, dtype=np.int64)
            ids = self._rows.numbers.ravel()[at]
            device = self.tensor.device
            self.tensor.view(-1).index_copy_(0, upload(at, device), upload(ids, device))


class _TableRows:
    """Block tables on the host, one per line.

    A request's table only grows, so if a line keeps its table, only the new blocks are written, here and on the
    device. Writing all of them would cost as much as the step itself.
    """

    def __init__(self, pad_blocks: npt.NDArray[np.int64], max_blocks: int) -> None:
        """Create lines that are all padding.

        pad_blocks: [rows], the block of each line while the line is padding.
        """
        self.numbers = np.repeat(pad_blocks.astype(np.int32)[:, None], max_blocks, axis=1)
        self._pad_blocks = pad_blocks.tolist()
        self._tables: list[Sequence[int]] = [()] * len(pad_blocks)
        self._filled = [0] * len(pad_blocks)

    def update(self, tables: Sequence[Sequence[int]], num_lent: int) -> list[int]:
        """Write `tables` to the first lines, leave out the next `num_lent`, and turn the rest into padding.

        The caller writes to the lines that are left out, on the device only. Blocks past the width of a line are left
        out, too.

        Return the indices of the written ids in the flattened lines. Past the end of its table, a line may hold stale
        ids. They are valid block ids, and no kernel reads them.
        """
        written: list[int] = []
        width = self.numbers.shape[1]
        for at, table in enumerate(tables):
            done, end = self._filled[at] if self._tables[at] is table else 0, min(len(table), width)
            if end > done:
                self.numbers[at, done:end] = table[done:end]
                written += range(at * width + done, at * width + end)
            self._tables[at], self._filled[at] = table, end
        own = len(tables) + num_lent
        for at in range(len(tables), own):
            self._tables[at], self._filled[at] = (), 1
        for at in range(own, len(self._tables)):
            if self._filled[at]:
                self.numbers[at, 0] = self._pad_blocks[at]
                written.append(at * width)
                self._tables[at], self._filled[at] = (), 0
        return written
