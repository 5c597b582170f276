"""The device's pool of KV blocks, as attention and copies see it."""

from collections.abc import Sequence
from itertools import groupby

import torch

from cache_tiers.layout.layout import BlockLayout, Piece, PoolOrder


class KVPool:
    """Views of one flat tensor that holds all KV blocks of a device.

    tensor: [num_blocks * layout.elements].
    pages: K and V of each attention call. Each is [block, kv_head, slot, dim], or contiguous [block, slot, kv_head,
        dim] in the order LAYERS.
    """

    def __init__(self, tensor: torch.Tensor, layout: BlockLayout) -> None:
        self.tensor = tensor
        self.layout = layout
        self.num_blocks = tensor.numel() // layout.elements
        pieces = list(layout.pieces())
        pages = [self._page(piece) for piece in pieces]
        self.pages = tuple(zip(pages[::2], pages[1::2], strict=True))
        self._runs = self._equal_runs(pieces)

    @property
    def blocks(self) -> torch.Tensor:
        """View the pool as [num_blocks, layout.elements]. Only for the order BLOCKS."""
        assert self.layout.order is PoolOrder.BLOCKS
        return self.tensor.view(self.num_blocks, -1)

    @property
    def is_in_pieces(self) -> bool:
        """Whether a block is more than one contiguous piece of the pool."""
        return self.layout.order is PoolOrder.LAYERS

    def block(self, block_id: int) -> Sequence[torch.Tensor]:
        """Return the parts of a block, each [pieces, elements]. Joined in this order they are the whole block."""
        return [run[:, block_id] for run in self._runs]

    def parts(self, whole: torch.Tensor) -> Sequence[torch.Tensor]:
        """Divide a whole block [layout.elements] into views of the shapes that `block` returns."""
        sizes = [run.shape[0] * run.shape[2] for run in self._runs]
        return [part.view(run.shape[0], -1) for part, run in zip(whole.split(sizes), self._runs, strict=True)]

    def _page(self, piece: Piece) -> torch.Tensor:
        if self.layout.order is PoolOrder.BLOCKS:
            columns = self.blocks[:, piece.begin : piece.begin + piece.elements]
            return columns.view(self.num_blocks, *piece.shape)
        begin = piece.begin * self.num_blocks
        rows = self.tensor[begin : begin + piece.elements * self.num_blocks]
        return rows.view(self.num_blocks, *piece.shape)

    def _equal_runs(self, pieces: Sequence[Piece]) -> list[torch.Tensor]:
        """Return a view [pieces, num_blocks, elements] of each run of equal pieces, which one copy moves."""
        if self.layout.order is PoolOrder.BLOCKS:
            return [self.tensor.view(1, self.num_blocks, -1)]
        runs: list[torch.Tensor] = []
        begin = 0
        for elements, equal in groupby(pieces, key=lambda piece: piece.elements):
            count = len(list(equal))
            end = begin + count * elements * self.num_blocks
            runs.append(self.tensor[begin:end].view(count, self.num_blocks, elements))
            begin = end
        return runs
