"""The virtual rows of a prompt adapter in the layout of the kernels."""

import ctypes
from collections.abc import Sequence

from engine.cpu.library import GivenRow
from models.decoder.virtual_rows import VirtualRows


class PlacedRows:
    """The rows of one adapter in float32. `addresses` point to a GivenRow per row, which this object keeps alive."""

    def __init__(self, virtual: VirtualRows) -> None:
        self._embeddings = virtual.embeddings.float().contiguous()
        self._kv = None if virtual.kv is None else virtual.kv.permute(2, 0, 1, 3, 4).float().contiguous()
        count = len(self._embeddings)
        self._rows = (GivenRow * count)(
            *(
                GivenRow(self._embeddings[at].data_ptr(), self._kv[at].data_ptr() if self._kv is not None else None)
                for at in range(count)
            )
        )

    @property
    def addresses(self) -> Sequence[int]:
        """Addresses of the rows, in their order."""
        first = ctypes.addressof(self._rows)
        return range(first, first + ctypes.sizeof(self._rows), ctypes.sizeof(GivenRow))
