"""Arrays of a step in the kernels' layout. Kept between steps: creating arrays costs more than filling them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt
import torch

from engine.api.errors import EngineError
from engine.cpu import library
from engine.cpu.library import HiddenSum, Move, RowSampling, StepInput
from engine.sampling.adjustments import Adjustments
from engine.sampling.masks import Words
from engine.sampling.sampler import SamplingRow
from engine.worker.batch.input_batch import ScheduledRequest
from engine.worker.cache_engine import Addresses, StepMoves

PAGE_KEYS: Final = 64
"""Slots per page: kPageKeys in kernels/kv_pages.h. The only block size that the kernels support."""

Ints = npt.NDArray[np.int32]

_ROW_SAMPLING: Final = np.dtype(RowSampling)
_MOVE: Final = np.dtype(Move)
_HIDDEN_SUM: Final = np.dtype(HiddenSum)
_ADJUSTMENTS: Final = np.dtype(library.Adjustments)
_NO_ADDRESSES: Final[Mapping[str, int]] = MappingProxyType({})
_NO_ROWS: Final[Mapping[str, Sequence[int]]] = MappingProxyType({})
_SEED_MASK: Final = (1 << 64) - 1


class StepArrays:
    """Arrays with a fixed capacity, and the `input` structure that points at them.

    kv: the device pool, bfloat16 [num_blocks, BlockLayout.elements].
    hidden: width of a hidden state.
    sequences, rows: maximum number of sequences and rows of a step.
    blocks: maximum number of blocks per sequence.
    barred: maximum number of barred token ids of a step.
    moves: maximum number of blocks that a step moves.
    masks: maximum number of rows with a mask.
    adjusted: maximum number of rows with adjustments.
    summed: maximum number of sequences whose hidden states are summed.

    Invariant: the arrays do not change between the submission of a step and its end.
    """

    def __init__(
        self,
        kv: torch.Tensor,
        vocab_size: int,
        hidden: int,
        *,
        sequences: int,
        rows: int,
        blocks: int,
        barred: int,
        moves: int,
        masks: int,
        adjusted: int,
        summed: int,
    ) -> None:
        self._kv = kv
        self._vocab_size = vocab_size
        self._hidden = hidden
        self._room = (sequences, rows, blocks, barred, moves, masks, adjusted, summed)
        self._token_ids = _ints(rows)
        self._query_lens = _ints(sequences)
        self._context_lens = _ints(sequences)
        self._block_tables = np.zeros((sequences, blocks), dtype=np.int32)
        self._adapters = np.zeros(sequences, dtype=np.uintp)
        self._adapted_from = _ints(sequences)
        self._given = np.zeros(rows, dtype=np.uintp)
        self._sample_rows = _ints(sequences + rows)
        self._sampling = np.zeros(sequences + rows, dtype=_ROW_SAMPLING)
        self._barred = _ints(barred)
        self._chosen = _ints(sequences + rows)
        self._logits_index = _ints(sequences + rows)
        self._num_sampling = 0
        self._moves = np.zeros(moves, dtype=_MOVE)
        self._adjustments = np.zeros(adjusted, dtype=_ADJUSTMENTS)
        self._masks = np.zeros((masks, -(-vocab_size // 32)), dtype=np.uint32)
        self._adjustments_at: int = self._adjustments.ctypes.data
        self._sums = np.zeros(summed, dtype=_HIDDEN_SUM)
        self.input = StepInput(
            table_width=blocks,
            token_ids=self._token_ids.ctypes.data,
            query_lens=self._query_lens.ctypes.data,
            context_lens=self._context_lens.ctypes.data,
            block_tables=self._block_tables.ctypes.data,
            adapted_from=self._adapted_from.ctypes.data,
            sample_rows=self._sample_rows.ctypes.data,
            sampling=self._sampling.ctypes.data,
            barred=self._barred.ctypes.data,
            chosen=self._chosen.ctypes.data,
            logits_index=self._logits_index.ctypes.data,
            kv=kv.data_ptr(),
            block_size=kv.stride(0),
            moves=self._moves.ctypes.data,
            sums=self._sums.ctypes.data,
        )

    def with_room_for(self, scheduled: Sequence[ScheduledRequest], moves: StepMoves) -> "StepArrays":
        """Return these arrays if the step fits, else new, larger ones."""
        rows = [row for request in scheduled for row in request.sampling]
        needed = (
            len(scheduled),
            sum(len(request.token_ids) for request in scheduled),
            max((_num_blocks(request) for request in scheduled), default=0),
            sum(len(row.barred_ids) for row in rows),
            moves.count,
            sum(row.mask is not None for row in rows),
            sum(row.adjustments is not None for row in rows),
            sum(request.hidden_sum is not None for request in scheduled),
        )
        if all(want <= have for want, have in zip(needed, self._room, strict=True)):
            return self
        room = [have if want <= have else 2 * want for want, have in zip(needed, self._room, strict=True)]
        return StepArrays(
            self._kv,
            self._vocab_size,
            self._hidden,
            sequences=room[0],
            rows=room[1],
            blocks=room[2],
            barred=room[3],
            moves=room[4],
            masks=room[5],
            adjusted=room[6],
            summed=room[7],
        )

    def fill(
        self,
        scheduled: Sequence[ScheduledRequest],
        wanted: Sequence[int],
        moves: StepMoves,
        *,
        samples: bool = True,
        adapters: Mapping[str, int] = _NO_ADDRESSES,
        virtual: Mapping[str, Sequence[int]] = _NO_ROWS,
    ) -> None:
        """Fill the arrays with a step.

        wanted: ascending indices of the sampling rows whose logits are returned. The logits of the rows before
            `prompt_targets` follow them. The kernels sample those rows too, and the samples are discarded.
        samples: whether these kernels sample and embed; False if another stage has the final norm.
        adapters: addresses of the adapters, by the digests of their contents.
        virtual: addresses of the virtual tokens of the prompt adapters, by these digests.

        Raise EngineError for a row that samples randomly without a seed.
        """
        self._fill_requests(scheduled, wanted)
        self._fill_adapters(scheduled, adapters)
        self._fill_given(scheduled, virtual)
        self._fill_sums(scheduled)
        if not samples:
            self.input.samples = self._num_sampling = self.input.num_sums = 0
        self._fill_moves(moves)

    def _fill_requests(self, scheduled: Sequence[ScheduledRequest], wanted: Sequence[int]) -> None:
        token_ids: list[int] = []
        sample_rows: list[int] = []
        scored_rows: list[int] = []
        rows: list[SamplingRow] = []
        for i, request in enumerate(scheduled):
            first = len(token_ids)
            scored_rows += range(first, first + len(request.prompt_targets))
            token_ids += request.token_ids
            sample_rows += range(first + request.sampling_from, len(token_ids))
            rows += request.sampling
            count = _num_blocks(request)
            self._block_tables[i, :count] = request.block_ids[:count]
        self._token_ids[: len(token_ids)] = token_ids
        self._query_lens[: len(scheduled)] = [len(request.token_ids) for request in scheduled]
        self._context_lens[: len(scheduled)] = [request.context_len for request in scheduled]
        samples = len(rows) + len(scored_rows)
        self._sample_rows[:samples] = sample_rows + scored_rows
        self._sampling[len(rows) : samples] = 0
        self._fill_sampling(rows)
        self._logits_index[: len(rows)] = -1
        self._logits_index[list(wanted)] = range(len(wanted))
        self._logits_index[len(rows) : samples] = range(len(wanted), len(wanted) + len(scored_rows))
        self._num_sampling = len(rows)
        self.input.sequences, self.input.samples = len(scheduled), samples

    def _fill_adapters(self, scheduled: Sequence[ScheduledRequest], addresses: Mapping[str, int]) -> None:
        self.input.adapters = None
        for i, request in enumerate(scheduled):
            if request.adapter is None or request.adapter.num_virtual:
                continue
            if self.input.adapters is None:
                self._adapters[: len(scheduled)] = 0
                self.input.adapters = self._adapters.ctypes.data
            self._adapters[i] = addresses[request.adapter.digest]
            self._adapted_from[i] = request.adapted_rows.start

    def _fill_given(self, scheduled: Sequence[ScheduledRequest], virtual: Mapping[str, Sequence[int]]) -> None:
        self.input.given, first = None, 0
        for request in scheduled:
            if request.adapter is not None and (count := len(request.virtual_rows)):
                if self.input.given is None:
                    self._given[:] = 0
                    self.input.given = self._given.ctypes.data
                begun = request.context_len
                self._given[first : first + count] = virtual[request.adapter.digest][begun : begun + count]
            first += len(request.token_ids)

    def _fill_sampling(self, rows: Sequence[SamplingRow]) -> None:
        barred: list[int] = []
        masked = adjusted = 0
        self._sampling[: len(rows)] = 0
        for i, row in enumerate(rows):
            params, own = row.params, row.barred_ids
            mask = 0
            if row.mask is not None:
                mask = self._put_mask(masked, row.mask)
                masked += 1
            adjustments = 0
            if row.adjustments is not None:
                adjustments = self._put_adjustments(adjusted, row.adjustments)
                adjusted += 1
            if params.temperature == 0 and not (own or mask or adjustments):
                continue
            if params.temperature > 0 and params.seed is None:
                raise EngineError("a request reached the sampler without a seed")
            seed = (params.seed or 0) & _SEED_MASK
            self._sampling[i] = (
                seed,
                params.temperature,
                params.top_p,
                params.min_p,
                params.top_k,
                row.position,
                params.choice,
                len(own),
                len(barred),
                mask,
                adjustments,
            )
            barred += own
        self._barred[: len(barred)] = barred

    def _put_mask(self, index: int, mask: Words) -> int:
        """Copy `mask` to row `index`, padded with zeros to all words of the vocabulary, and return its address.

        The copy stays valid as long as the kernels read it.
        """
        line = self._masks[index]
        known = mask[: len(line)]
        line[: len(known)], line[len(known) :] = known, 0
        address: int = line.ctypes.data
        return address

    def _put_adjustments(self, index: int, adjustments: Adjustments) -> int:
        """Write the adjustments to entry `index` and return its address.

        The arrays that the entry points to stay alive as long as the request is in the step.
        """
        params, seen = adjustments.params, adjustments.seen
        self._adjustments[index] = (
            params.repetition_penalty,
            params.presence_penalty,
            params.frequency_penalty,
            len(adjustments.biases),
            adjustments.bias_ids.ctypes.data,
            adjustments.biases.ctypes.data,
            adjustments.allowed.ctypes.data if adjustments.allowed is not None else 0,
            seen.ids.ctypes.data if seen is not None else 0,
            seen.counts.ctypes.data if seen is not None else 0,
            seen.num.ctypes.data if seen is not None else 0,
            len(seen.ids) if seen is not None else 0,
        )
        return self._adjustments_at + index * _ADJUSTMENTS.itemsize

    def _fill_sums(self, scheduled: Sequence[ScheduledRequest]) -> None:
        """Write where the kernels add hidden states. The sums stay alive as long as their requests are in the step."""
        count = first = 0
        for request in scheduled:
            rows = request.summed_rows
            if request.hidden_sum is not None and rows:
                address = request.hidden_sum.total(self._hidden).data_ptr()
                self._sums[count] = (address, first + rows.start, first + rows.stop)
                count += 1
            first += len(request.token_ids)
        self.input.num_sums = count

    def _fill_moves(self, moves: StepMoves) -> None:
        self.input.copies, self.input.loads = len(moves.copies), len(moves.loads)
        self.input.stores = len(moves.stores)
        if moves.count:
            pairs: list[Addresses] = [*moves.copies, *moves.loads, *moves.stores]
            self._moves["source"][: len(pairs)], self._moves["target"][: len(pairs)] = zip(*pairs, strict=True)

    def move_seconds(self) -> list[float]:
        """Return the duration in seconds of each load, then of each store."""
        first, end = self.input.copies, self.input.copies + self.input.loads + self.input.stores
        seconds: list[float] = self._moves["seconds"][first:end].tolist()
        return seconds

    def chosen(self) -> list[int]:
        """Return the sampled tokens, one per sampling row of the step."""
        tokens: list[int] = self._chosen[: self._num_sampling].tolist()
        return tokens


def _ints(size: int) -> Ints:
    return np.zeros(size, dtype=np.int32)


def _num_blocks(request: ScheduledRequest) -> int:
    return -(-(request.context_len + len(request.token_ids)) // PAGE_KEYS)
