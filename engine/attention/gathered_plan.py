"""The part of a step's gathered attention that equal calls share: page ids, tiles and masks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Final

import torch

from cache_tiers.layout.kv_pool import KVPool
from engine.attention.backend import AttentionMetadata
from models.interface.attention_call import AttentionCall

SHORT_BLOCKS: Final = 8
"""Up to this many blocks a sequence joins any group of such: a call costs more than the padding."""


@dataclass(frozen=True, slots=True)
class DecodeGroup:
    """Decodes padded together. members: ascending indices into the given lengths. num_blocks: blocks of the longest."""

    members: tuple[int, ...]
    num_blocks: int


def group_decodes(lengths: Sequence[int], block_size: int, max_blocks: int) -> list[DecodeGroup]:
    """Split so that padding at most doubles a sequence of more than SHORT_BLOCKS, and a group gathers <= max_blocks.

    A sequence that is longer than `max_blocks` is a separate group.
    """
    blocks = [-(-length // block_size) for length in lengths]
    groups: list[DecodeGroup] = []
    members: list[int] = []
    longest = 0
    for index in sorted(range(len(blocks)), key=lambda i: (-blocks[i], i)):
        too_short = blocks[index] * 2 < longest and longest > SHORT_BLOCKS
        if members and (too_short or longest * (len(members) + 1) > max_blocks):
            groups.append(DecodeGroup(tuple(sorted(members)), longest))
            members = []
        if not members:
            longest = blocks[index]
        members.append(index)
    if members:
        groups.append(DecodeGroup(tuple(sorted(members)), longest))
    return groups


QUERY_TILE: Final = 128
"""Queries of a prompt that are processed together. Tiles end at multiples of this position."""

GATHER_BYTES: Final = 16 << 20
"""Maximum size of one decode group's gathered K and V, which should stay in the last-level cache until read."""


@dataclass(frozen=True, slots=True)
class PageIds:
    """Rows of `page_rows` to gather, for K and for V, ordered by sequence, head and block.

    keys, values: [n * kv_heads * blocks] int64.
    """

    keys: torch.Tensor
    values: torch.Tensor


@dataclass(frozen=True, slots=True)
class Tile:
    """Consecutive queries of one prompt, and the gathered keys that they may see.

    rows: rows of the flat batch.
    keys: range of the prompt's gathered keys. The last one is that of the last query.
    mask: [queries, keys], 0 or -inf; None if only later positions are masked.
    """

    rows: slice
    keys: slice
    mask: torch.Tensor | None


@dataclass(frozen=True, slots=True)
class Prefill:
    """Several rows of one sequence."""

    page_ids: PageIds
    tiles: tuple[Tile, ...]


@dataclass(frozen=True, slots=True)
class Decode:
    """A group of n sequences with one row each.

    rows: [n] int64, rows of the flat batch; None if the group is the whole batch in order.
    mask: [n * kv_heads, group, blocks * block_size], 0 or -inf.
    """

    rows: torch.Tensor | None
    count: int
    page_ids: PageIds
    mask: torch.Tensor


@dataclass(frozen=True, slots=True)
class GatherPlan:
    """All prompts and decodes of a step."""

    prefills: tuple[Prefill, ...]
    decodes: tuple[Decode, ...]


def shared_plan_key(call: AttentionCall) -> AttentionCall:
    """Return `call` without the rules that no plan depends on. Calls with equal keys share a plan."""
    return replace(call, scale=1.0, softcap=0.0, sinks=False)


def page_rows(pages: torch.Tensor) -> torch.Tensor:
    """View pages [block, kv_head, slot, dim] as rows [n, slot * dim], for `index_select`.

    The distance between rows divides pages and blocks, so each page is a row. Rows may overlap.
    """
    blocks, heads, slots, dim = pages.shape
    distance = gcd(pages.stride(0), slots * dim)
    last = (blocks - 1) * pages.stride(0) + (heads - 1) * slots * dim
    return pages.as_strided((last // distance + 1, slots * dim), (distance, 1))


class GatherPlanner:
    """Maker of the plans of equal calls, over the blocks of one pool."""

    def __init__(self, call: AttentionCall, pool: KVPool) -> None:
        self._call = call
        self._like = pool.tensor
        self._block_size = pool.layout.block_size
        self._block_elements = pool.layout.elements
        self._heads = torch.arange(call.kv_heads, device=self._like.device)

    def plan(self, metadata: AttentionMetadata) -> GatherPlan:
        """Plan a step. Page ids and masks are on the device."""
        prefills: list[Prefill] = []
        rows: list[int] = []
        decodes: list[int] = []
        row = 0
        for index, query_len in enumerate(metadata.query_lens):
            if query_len == 1:
                decodes.append(index)
                rows.append(row)
            else:
                prefills.append(self._prefill(metadata, index, row))
            row += query_len
        page_bytes = self._call.kv_heads * self._block_size * self._like.itemsize
        most_blocks = GATHER_BYTES // (page_bytes * (self._call.k_dim + self._call.v_dim))
        lengths = [metadata.seq_lens[i] - self._first_key(metadata.seq_lens[i] - 1) for i in decodes]
        groups = group_decodes(lengths, self._block_size, most_blocks)
        return GatherPlan(tuple(prefills), tuple(self._decode(metadata, group, decodes, rows, row) for group in groups))

    def _first_key(self, position: int) -> int:
        """Return the first position of the first block that the query at `position` sees."""
        return self._call.first_visible(position) // self._block_size * self._block_size

    def _page_ids(self, tables: Sequence[Sequence[int]]) -> PageIds:
        """Return the rows of the pages of equally long block tables [n, blocks]."""
        blocks = self._ids(tables)[:, None, :]
        keys = self._rows_of(blocks, self._call.k_dim)
        return PageIds(keys, keys if self._call.v_dim == self._call.k_dim else self._rows_of(blocks, self._call.v_dim))

    def _rows_of(self, blocks: torch.Tensor, dim: int) -> torch.Tensor:
        page = self._block_size * dim
        distance = gcd(self._block_elements, page)
        rows = blocks * (self._block_elements // distance) + self._heads[None, :, None] * (page // distance)
        return rows.flatten()

    def _prefill(self, metadata: AttentionMetadata, index: int, first_row: int) -> Prefill:
        seq_len, query_len = metadata.seq_lens[index], metadata.query_lens[index]
        context_len = seq_len - query_len
        # Tiles read whole tiles' worth of keys, so most of them do not depend on how the prompt was chunked.
        origin = self._first_key(context_len // QUERY_TILE * QUERY_TILE)
        table = metadata.block_tables[index][origin // self._block_size : -(-seq_len // self._block_size)]
        tiles: list[Tile] = []
        position = context_len
        while position < seq_len:
            start = position // QUERY_TILE * QUERY_TILE
            end, first = min(start + QUERY_TILE, seq_len), self._first_key(start)
            row = first_row + position - context_len
            mask = self._mask(position, end, first) if self._call.window or self._call.chunk else None
            tiles.append(Tile(slice(row, row + end - position), slice(first - origin, end - origin), mask))
            position = end
        return Prefill(self._page_ids([table]), tuple(tiles))

    def _mask(self, begin: int, end: int, first_key: int) -> torch.Tensor:
        """Mask the keys [first_key, end) for the queries [begin, end)."""
        keys = torch.arange(first_key, end, device=self._like.device)
        queries = keys[begin - first_key :, None]
        first = self._ids([self._call.first_visible(position) for position in range(begin, end)])[:, None]
        hidden = (keys > queries) | (keys < first)
        return self._like.new_zeros(hidden.shape).masked_fill_(hidden, float("-inf"))

    def _decode(
        self, metadata: AttentionMetadata, group: DecodeGroup, decodes: list[int], rows: list[int], total_rows: int
    ) -> Decode:
        """Plan one decode group. `group.members` index `decodes` and `rows`.

        decodes: index of each decoding sequence in the batch.
        rows: row of each decoding sequence in the flat batch.
        """
        blocks = group.num_blocks
        tables: list[list[int]] = []
        spans: list[tuple[int, int]] = []
        for member in group.members:
            seq_len = metadata.seq_lens[decodes[member]]
            origin = self._first_key(seq_len - 1)
            table = metadata.block_tables[decodes[member]]
            used = table[origin // self._block_size : -(-seq_len // self._block_size)]
            # Padding points at a block of the sequence itself, which is finite. The mask excludes it.
            tables.append([*used, *[used[0]] * (blocks - len(used))])
            spans.append((self._call.first_visible(seq_len - 1) - origin, seq_len - origin))
        begins, ends = self._ids(spans).T[:, :, None]
        keys = torch.arange(blocks * self._block_size, device=self._like.device)
        hidden = (keys < begins) | (keys >= ends)
        mask = self._like.new_zeros(hidden.shape).masked_fill_(hidden, float("-inf"))
        mask = mask[:, None, None].expand(-1, self._call.kv_heads, self._call.group, -1).flatten(0, 1).contiguous()
        is_whole_batch = len(group.members) == total_rows
        selected = None if is_whole_batch else self._ids([rows[member] for member in group.members])
        return Decode(selected, len(group.members), self._page_ids(tables), mask)

    def _ids(self, values: Sequence[int] | Sequence[Sequence[int]]) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.int64, device=self._like.device)
